"""Pairs of networks, an earlier and the last one: what of their difference may be said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.cut.interface import CutFacts
from probe.notes import listed
from probe.rewinding.blocks import Blocks, Earlier, changed_blocks, rewound
from probe.rewinding.correspondence import Comparison, unrelated
from probe.rewinding.estimates import Position
from probe.rewinding.hybrids import Rewinding, rewind
from probe.rewinding.shapley import EXACT, Floats

DEFICIT = 0.4
"""The largest deficit of networks that correspond, in accuracy."""

_ABOVE_CHANCE = 0.1  # of both ends, below which hybrids have no room to be worse
_CLOSE = 1e-3  # to which scores of the same weights agree, whatever the batch


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """The last network, and how it is compared with each earlier one.

    Attributes:
        last: The last network, in eval mode, which is as before afterwards.
        blocks: The blocks of the network.
        facts: The facts on the cut at each hidden feature, by depth.
        score: Function that returns the score of a network for each of N test examples, (N,); of
            the task at a position, or of all tasks if the flag is set.
        logits: Function that returns a network's logits on some examples of the task at a position.
        chance: The accuracy of guessing, None for other scores.
        hybrids: See `rewind`.
    """

    last: nn.Module
    blocks: Blocks
    facts: Mapping[str, CutFacts]
    score: Callable[[nn.Module, int, bool], Floats]
    logits: Callable[[nn.Module, int], Tensor]
    chance: float | None
    hybrids: int = EXACT

    def position(self, earlier: nn.Module, of_task: NDArray[np.bool_], j: int) -> Position:
        """Return the quantities of every test example for the network after one task.

        Args:
            earlier: The network after the task, in eval mode.
            of_task: Whether an example is one of the task, (N,).
            j: The position of the task.
        """
        before = Earlier.of(earlier, self.last)
        changed = changed_blocks(self.blocks, before, self.last)
        scores = rewind(
            self.last,
            before,
            self.blocks,
            lambda everywhere: self.score(self.last, j, everywhere),
            self.hybrids,
        )
        saved = self.score(earlier, j, False)
        # What has grown since competes in a hybrid, and not in the network as it was saved.
        with rewound(self.last, changed.values(), before, grown=False):
            put_back = self.score(self.last, j, False)
        result = Rewinding(scores=scores, of_task=of_task, limit=self.hybrids)
        values: dict[tuple[str, str], Floats] = {("", "score"): np.where(of_task, scores[()], 0)}
        broken_law = law_failure(saved[of_task], put_back[of_task], before.others)
        if broken_law:
            return Position(values=values, withheld=broken_law)
        quantities = result.quantities(dict.fromkeys([*self.blocks, *changed]))
        competition = np.where(of_task, saved - scores[result.blocks], 0)
        values["", "competition"] = competition
        values["", "forgotten"] = competition + quantities["", "lost"]
        values["", "lost"] = quantities["", "lost"]
        comparison = Comparison(
            model=self.last,
            earlier=earlier,
            before=before,
            changed=changed,
            facts=self.facts,
            run=lambda network: self.logits(network, j),
        )
        hidden = [name for name in self.facts if name in changed]
        reason = unrelated(comparison.relations(), hidden) or deficit_doubt(result, self.chance)
        if reason:
            return Position(values=values, withheld=reason)
        return Position(
            values=values | quantities,
            errors=result.sampling_error,
            unchanged=frozenset(self.blocks) - set(changed),
        )


def law_failure(saved: Floats, put_back: Floats, others: Sequence[str]) -> str:
    """Return why the law of rewinding fails, empty if it holds.

    Args:
        saved: The scores of the earlier network, called as it was saved, (n,).
        put_back: The scores of the last network with all blocks put back, (n,).
        others: The names of what differs and cannot be put back.
    """
    if np.allclose(saved, put_back, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
        return ""
    what = f"{listed(others)} differ" if others else "something outside its modules differs"
    if len(others) == 1:
        what = f"{others[0]} differs"
    return f"with all layers put back it is not the earlier network, as {what}"


def deficit_doubt(result: Rewinding, chance: float | None) -> str:
    """Return why mixtures of two networks are too bad to be told apart, empty if they are not.

    Args:
        result: The scores of the mixtures.
        chance: The accuracy of guessing, None for other scores.
    """
    if chance is None or result.worse_end < chance + _ABOVE_CHANCE or not result.deficit > DEFICIT:
        return ""
    return (
        f"networks with layers of both are {100 * result.deficit:.1f} points worse than either: "
        f"their weights do not correspond"
    )
