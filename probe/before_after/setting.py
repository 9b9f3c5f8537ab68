"""Two networks and their test examples, and what each block accounts for."""

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from probe.arrays import Bools
from probe.before_after.inside import children_of
from probe.before_after.networks import TwoModels
from probe.before_after.ranking import interval
from probe.immutable import immutable
from probe.progress import tracked
from probe.rewinding.causes import cause_table
from probe.rewinding.data import has_classes
from probe.rewinding.parts import REST, Parts
from probe.rewinding.scoring import Tests
from probe.rewinding.two_networks import TwoNetworks

if TYPE_CHECKING:
    import pandas as pd

_MOST = 0.5  # of what was lost, beyond which a block is opened


@immutable(eq=False)
class Blame:
    """The part of what was lost that each block accounts for, by sets of blocks put back.

    Attributes:
        parts: The blocks.
        two: The scores by set of blocks.
        causes: A row for each block, see `probe.before_after.result.Diff`.
    """

    parts: Parts
    two: TwoNetworks
    causes: "pd.DataFrame"

    @cached_property
    def by_share(self) -> "pd.DataFrame":
        """The rows of the blocks, the largest share first."""
        return self.causes.sort_values("share", ascending=False, kind="stable")

    @cached_property
    def guilty(self) -> str:
        """The block with the largest share, empty if none is above 0."""
        positive = self.by_share[self.by_share["share"] > 0]
        return _first(positive)

    @property
    def opened(self) -> str:
        """The block that accounts for more than half of what was lost, empty if there is none."""
        # Attributes of no module are guilty without being a block.
        if self.guilty not in self.parts.blocks:
            return ""
        share = self.causes["share"].max()
        # With the ends of its interval.
        lost, lost_low, _ = self.causes.attrs["lost"]
        return self.guilty if lost_low > 0 and share > _MOST * lost else ""

    @property
    def traded(self) -> str:
        """The block that, put back, is shown to raise old and to lower new examples."""
        rows = self.by_share
        return _first(rows[(rows["restored_low"] > 0) & (rows["new_high"] < 0)])

    @property
    def outweighing(self) -> str:
        """The guilty block, if it is shown to account for more than the traded one, else empty."""
        of_block = self.causes.set_index("feature")
        guilty = of_block["share_low"].get(self.guilty, -np.inf)
        return self.guilty if guilty > of_block["share_high"][self.traded] else ""


def _first(rows: "pd.DataFrame") -> str:
    """Return the block of the first row, empty without rows."""
    return next(iter(rows["feature"]), "")


@immutable(eq=False)
class Setting:
    """Two networks and their test examples.

    Attributes:
        models: The networks.
        tests: The test examples and the score.
        hybrids: The number of sets of blocks up to which all are tested.
        margin: The amount of the score that matters, 0 if every amount does.
    """

    models: TwoModels
    tests: Tests
    hybrids: int
    margin: float

    @property
    def is_accuracy(self) -> bool:
        """Whether the score is an accuracy."""
        return self.tests.is_accuracy

    @property
    def is_old(self) -> Bools:
        """Whether a test example is old, (N,)."""
        return np.asarray(self.tests.task_of == 0)

    @property
    def has_new(self) -> bool:
        """Whether there are new examples."""
        return len(self.tests.data) > 1

    @property
    def labels(self) -> Sequence[Tensor]:
        """The labels of old examples, and of new ones if there are any."""
        return [y for _, y in self.tests.data]

    @property
    def has_classes(self) -> bool:
        """Whether all labels are classes."""
        return all(map(has_classes, self.labels))

    @property
    def shares_classes(self) -> bool:
        """Whether old and new examples have a class in common, or their labels are no classes.

        It is not known how a user's score reads labels.
        """
        if callable(self.tests.score) or not (self.has_new and self.has_classes):
            return True
        old, new = (set(y.unique().tolist()) for y in self.labels)
        return bool(old & new)

    def blame(self, parts: Parts) -> Blame:
        """Put sets of blocks back, and return what each block accounts for.

        In `causes`, `new` is what each block, put back alone, changes on new examples;
        the rest is of old ones.

        Args:
            parts: The blocks.
        """
        two = TwoNetworks(
            earlier=self.models.before,
            last=self.models.after,
            blocks=parts.blocks,
            parts=parts,
            tests=self.tests,
            hybrids=self.hybrids,
            everywhere=True,
            progress=partial(tracked, label="blocks put back"),
        )
        # The network before has learned one task.
        runs = [{1: two.quantities}]
        causes = cause_table(runs, self.tests, self.margin, tuple(parts.blocks))
        columns = ["new", "new_low", "new_high"]
        causes[columns] = np.nan
        for row, block in enumerate(causes["feature"] if self.has_new else ()):
            change = np.zeros(len(self.is_old))
            if block in two.changed:
                change = two.put_back(block) - two.put_back()
            estimate = interval(change[~self.is_old], self.is_accuracy)
            causes.loc[row, columns] = [estimate.value, estimate.low, estimate.high]
        return Blame(parts=parts, two=two, causes=causes)

    def opened(self, parts: Parts, block: str) -> Blame:
        """Return what each part of a block accounts for; all other blocks together are `rest`.

        Args:
            parts: The blocks.
            block: The name of a block, or of a part of one.

        Raises:
            InputError: There is no such block.
        """
        blocks = parts.blocks
        if block not in blocks:
            names = list(chain.from_iterable(blocks.values()))
            inside = tuple(n for n in names if n == block or n.startswith(f"{block}."))
            if inside:
                rest = tuple(name for name in names if name not in inside)
                blocks = {block: inside, REST: rest}
        return self.blame(Parts(blocks=children_of(block, blocks)))
