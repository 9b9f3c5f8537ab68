"""Rewinding: the last network with some blocks of an earlier one, tested on the earlier task.

theta_t is the network after t tasks, T the last, H_j(S) is theta_T with the blocks in S taken from
theta_j, and v_j(S) the score of H_j(S) on the test examples of task j. For j < T:

- lost = v_j(all) - v_j(none); attributed to block l: its Shapley value in v_j, see
  `probe.rewinding.shapley`; over the blocks they add up to lost;
- restored by block l = v_j({l}) - v_j(none); broken by it = v_j(all) - v_j(all but l);
- net of block l = the mean over all T tasks of the score of H_j({l}) minus that of theta_T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.rewinding.blocks import Blocks, changed_blocks, rewound
from probe.rewinding.shapley import Coalitions, Floats

Scores = Callable[[nn.Module, bool], Floats]
"""Test a network on the examples of the earlier task or, if the flag is set, of all, (n,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewinding:
    """The scores of a network with the blocks of one earlier network put back.

    Attributes:
        blocks: The m blocks that have changed since, by depth; the others have no part in it.
        coalitions: The sets of blocks that were put back, as bit masks.
        scores: v_j(S) for each example of the task, (n,), by set of blocks.
        others: (m, N), what putting back each block alone adds to the score of every example of all
            tasks.
    """

    blocks: tuple[str, ...]
    coalitions: Coalitions
    scores: Mapping[int, Floats]
    others: Floats

    @property
    def lost(self) -> Floats:
        """What all blocks together cost, (n,)."""
        return self.scores[max(self.scores)] - self.scores[0]

    @property
    def attributed(self) -> Floats:
        """What each block's change cost, (m, n)."""
        return self.coalitions.attributed(self.scores)

    @property
    def restored(self) -> Floats:
        """What putting back only this block returns, (m, n)."""
        return self.coalitions.alone(self.scores)

    @property
    def broken(self) -> Floats:
        """What the change of only this block breaks, (m, n)."""
        return self.coalitions.last(self.scores)


def rewind(
    model: nn.Module, before: Mapping[str, Tensor], blocks: Blocks, score: Scores, limit: int = 64
) -> Rewinding:
    """Test a network with every set of its blocks put back to an earlier network's.

    Args:
        model: The last network, a private copy; it is as before afterwards.
        before: The tensors of the earlier network, by name.
        blocks: The blocks of the network.
        score: Tests a network, higher is better.
        limit: The number of sets up to which all are tested, see `Coalitions`.

    Returns:
        The scores.
    """
    changed = changed_blocks(blocks, before, model)
    names = tuple(changed)
    coalitions = Coalitions(players=len(names), limit=limit)

    def scored(mask: int, everywhere: bool) -> Floats:
        tensors = [n for k, name in enumerate(names) if mask >> k & 1 for n in changed[name]]
        with rewound(model, tensors, before):
            return score(model, everywhere)

    present = scored(0, everywhere=True)
    others: list[NDArray[np.float64]] = [scored(1 << k, True) - present for k in range(len(names))]
    return Rewinding(
        blocks=names,
        coalitions=coalitions,
        scores={mask: scored(mask, everywhere=False) for mask in coalitions.masks},
        others=np.array(others).reshape(len(names), len(present)),
    )
