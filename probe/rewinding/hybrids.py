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
from typing import TypeVar

import numpy as np
from torch import Tensor, nn

from probe.rewinding.blocks import Blocks, changed_blocks, rewound
from probe.rewinding.shapley import Coalitions, Floats

Tested = TypeVar("Tested")
Names = tuple[str, ...]
"""A set of blocks, by depth."""


def rewind(
    model: nn.Module,
    before: Mapping[str, Tensor],
    blocks: Blocks,
    test: Callable[[bool], Tested],
    limit: int = 64,
) -> dict[Names, Tested]:
    """Test a network with sets of its blocks put back to an earlier network's.

    Args:
        model: The last network, which is as before afterwards.
        before: The tensors of the earlier network, by name.
        blocks: The blocks of the network.
        test: Tests the network on the examples of the earlier task or, if the flag is set, of all.
            It is set where one block is put back, or none.
        limit: The number of sets up to which all are tested, see `Coalitions`.

    Returns:
        The results by set of blocks, of those that have changed.
    """
    changed = changed_blocks(blocks, before, model)
    results = {}
    for mask in Coalitions(players=len(changed), limit=limit).masks:
        names = tuple(name for k, name in enumerate(changed) if mask >> k & 1)
        with rewound(model, [tensor for name in names for tensor in changed[name]], before):
            results[names] = test(len(names) < 2)
    return results


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewinding:
    """The scores of a network with the blocks of one earlier network put back.

    Attributes:
        blocks: The m blocks that have changed since, by depth; the others have no part in it.
        scores: v_j(S) for each example of the task, (n,), by set of blocks.
        everywhere: The same for the examples of all tasks, (N,), of sets of one block, or none.
        limit: See `rewind`.
    """

    blocks: Names
    scores: Mapping[Names, Floats]
    everywhere: Mapping[Names, Floats]
    limit: int = 64

    @property
    def lost(self) -> Floats:
        """What all blocks together cost, (n,)."""
        return self.scores[self.blocks] - self.scores[()]

    @property
    def attributed(self) -> Floats:
        """What each block's change cost, (m, n)."""
        return self._coalitions.attributed(self._by_mask)

    @property
    def sampling_error(self) -> Floats:
        """The standard error that drawing orders adds to the mean of what is attributed, (m,)."""
        return self._coalitions.error(self._by_mask)

    @property
    def restored(self) -> Floats:
        """What putting back only this block returns, (m, n)."""
        return self._coalitions.alone(self._by_mask)

    @property
    def broken(self) -> Floats:
        """What the change of only this block breaks, (m, n)."""
        return self._coalitions.last(self._by_mask)

    @property
    def net(self) -> Floats:
        """What putting back only this block adds to the score of every example, (m, N)."""
        present = self.everywhere[()]
        added = [self.everywhere[name,] - present for name in self.blocks]
        return np.array(added).reshape(len(added), len(present))

    @property
    def _coalitions(self) -> Coalitions:
        return Coalitions(players=len(self.blocks), limit=self.limit)

    @property
    def _by_mask(self) -> dict[int, Floats]:
        bit = {name: 1 << k for k, name in enumerate(self.blocks)}
        return {sum(map(bit.__getitem__, names)): x for names, x in self.scores.items()}
