"""Two networks: the last one with sets of its blocks put back to those of an earlier one."""

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor, nn

from probe.arrays import Floats, Ints
from probe.batch import varied
from probe.cut.model_call import explained
from probe.immutable import immutable
from probe.modules import named_state
from probe.rewinding.blocks import Change
from probe.rewinding.correspondence import Comparison, correspondence_doubt
from probe.rewinding.estimates import Quantities
from probe.rewinding.hybrids import Names, Rewinding, rewind, sets_of
from probe.rewinding.pairs import deficit_doubt, law_failure, quantities_of
from probe.rewinding.parts import Parts
from probe.rewinding.scoring import (
    Tests,
    batches,
    on_device_of,
    repeatable_eval,
    rows_for,
)
from probe.rewinding.shapley import EXACT
from probe.rewinding.sharing import FEW, SharedPasses


@immutable(eq=False)
class TwoNetworks(Change):
    """The scores of a network with sets of its blocks put back to an earlier one's.

    Both are in eval mode.

    Attributes:
        parts: The blocks, and where passes may start.
        tests: The test examples and the score.
        task: The number of tasks that the earlier network has learned, from 1.
        hybrids: The number of sets of blocks up to which all are tested.
        everywhere: Whether each set is tested on the examples of all tasks.
        progress: Function that wraps the passes, as `tqdm` does.
    """

    parts: Parts
    tests: Tests
    task: int = 1
    hybrids: int = EXACT
    everywhere: bool = False
    progress: Callable[[Sequence[int]], Iterable[int]] = iter

    @cached_property
    def rewinding(self) -> Rewinding:
        """The scores by set of blocks put back."""
        scores = self._shared_scores()
        if scores is None:
            scores = rewind(
                self,
                partial(self._scores, self.last),
                self.hybrids,
                progress=self.progress,
            )
        of_task = self.tests.task_of == self.task - 1
        return Rewinding(scores=scores, of_task=of_task, limit=self.hybrids)

    def _shared_scores(self) -> dict[Names, Floats] | None:
        """Return the scores by set of blocks, by passes that share work; None if none can."""
        # A user's score may read more than logits.
        if callable(self.tests.score) or self.parts.starts is None:
            return None
        shared = SharedPasses(
            change=self,
            starts=self.parts.starts,
            run=partial(self.tests.model.class_call, self.last),
        )
        samples = [on_device_of(self.last, varied(x, FEW)) for x, _ in self.tests.data]
        with repeatable_eval(self.last):
            return shared.run_test(partial(self._by_batch, shared), samples)

    @torch.no_grad()
    def _by_batch(self, shared: SharedPasses) -> dict[Names, Floats]:
        """Return the scores by set of blocks, measured batch by batch."""
        sets = sets_of(self.changed, self.hybrids)
        scores = {names: np.zeros(len(self.tests.task_of)) for names in sets}
        sets = shared.by_beginning(sets)
        few = [names for names in sets if len(names) < 2]
        steps: list[tuple[int, Tensor, Sequence[Names]]] = []
        for k, (x, _) in enumerate(self.tests.data):
            of_task = sets if self.everywhere or k + 1 == self.task else few
            of_batches = batches(x, self.tests.batch_size)
            steps.extend((k, rows, of_task) for rows in of_batches)
        passes = self._passes(shared, steps)
        for _ in self.progress(range(sum(len(of_task) for *_, of_task in steps))):
            names, indices, values = next(passes)
            scores[names][indices] = values
        return scores

    def _passes(
        self,
        shared: SharedPasses,
        steps: Iterable[tuple[int, Tensor, Sequence[Names]]],
    ) -> Iterator[tuple[Names, Ints, Floats]]:
        """Yield sets of blocks, and the indices and scores of a batch of examples."""
        for k, rows, sets in steps:
            x, y = (rows_for(self.last, t, rows) for t in self.tests.data[k])
            indices = np.flatnonzero(self.tests.task_of == k)[rows.numpy()]
            with explained(x):
                for names, logits in zip(sets, shared.logits(x, sets), strict=True):
                    values = self.tests.batch_scores(self.last, x, y, logits)
                    yield names, indices, values

    @cached_property
    def saved(self) -> Floats:
        """The score of the earlier network on each example, (N,), called as it was saved."""
        if not self.borrows_outputs:
            return self._scores(self.earlier)
        saved = self.tests.scores(self.earlier, self.task)
        put_back = self.put_back(*self.rewinding.blocks)
        return np.where(self.rewinding.of_task, saved, put_back)

    @cached_property
    def borrows_outputs(self) -> bool:
        """Whether the earlier network has the last one's outputs for classes that have come since.

        Without, its loss on other tasks' examples would be infinite.
        """
        if self.tests.score != "loss" or not self.everywhere:
            return False
        largest = max(int(y.max()) for _, y in self.tests.data)
        return largest >= self.outputs[0]

    @cached_property
    def outputs(self) -> tuple[int, int]:
        """The numbers of outputs of both networks."""
        earlier = self.tests.logits(self.earlier, self.task, FEW)
        last = self.tests.logits(self.last, self.task, FEW)
        return earlier.shape[-1], last.shape[-1]

    @cached_property
    def quantities(self) -> Quantities:
        """The quantities of every test example, as far as they are known."""
        chance = 1 / self.outputs[1] if self.tests.is_accuracy else None
        return quantities_of(
            self.rewinding,
            tuple(self.blocks),
            self.saved,
            self._broken_law(),
            self._unrelated_doubt() or deficit_doubt(self.rewinding, chance),
        )

    def put_back(self, *blocks: str) -> Floats:
        """Return the score of each example with some of the changed blocks put back, (N,)."""
        return self.rewinding.scores[blocks]

    def _scores(self, network: nn.Module, everywhere: bool = False) -> Floats:
        all_tasks = everywhere or self.everywhere
        return self.tests.scores(network, None if all_tasks else self.task)

    def _broken_law(self) -> str:
        """Return why the law of rewinding fails, empty if it holds."""
        put_back = self.put_back(*self.rewinding.blocks)
        state = named_state(self.last)
        earlier = self.before.state.items()
        grown = any(tensor.shape != state[name].shape for name, tensor in earlier)
        if grown and self.outputs[0] != self.outputs[1]:
            # New outputs compete in a hybrid, but not in the earlier network as saved.
            with self.rewound(self.changed, grown=False):
                put_back = self.tests.scores(self.last, self.task)
        of_task = self.rewinding.of_task
        others = self.before.others
        return law_failure(self.saved[of_task], put_back[of_task], others)

    def _unrelated_doubt(self) -> str:
        """Return why the units of two networks do not correspond, empty if they do."""
        if not self.parts.facts:
            return ""
        change = Change(
            earlier=self.earlier, last=self.last, blocks=self.parts.by_feature
        )
        comparison = Comparison(
            change=change,
            facts=self.parts.facts,
            run=partial(self.tests.logits, position=self.task),
        )
        hidden = [name for name in self.parts.facts if name in change.changed]
        return correspondence_doubt(comparison.relations(), hidden)
