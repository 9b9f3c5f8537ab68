"""Rewinding: the last network with some blocks of an earlier one, tested on the earlier task.

theta_t is the network after t tasks, T the last, H_j(S) is theta_T with the blocks in S
taken from theta_j, and v_j(S) the score of H_j(S) on the test examples of task j. For j
< T:

- lost = v_j(all) - v_j(none); attributed to block l: its Shapley value in v_j, see
  `probe.rewinding.shapley`; over the blocks they add up to lost;
- restored by block l = v_j({l}) - v_j(none); broken by it = v_j(all) - v_j(all but l);
- net of block l = the mean over all T tasks of the score of H_j({l}) minus that of
  theta_T.

The law of rewinding: v_j(all) is the score of theta_j itself, called as it was saved,
example by example, with the classes that compete after T. Where it fails, something
outside the network's parameters, buffers and plain attributes has changed, and nothing
can be said of causes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import nan
from statistics import fmean
from typing import TypeVar

import numpy as np

from probe.arrays import Bools, Floats
from probe.immutable import immutable
from probe.rewinding.blocks import Change
from probe.rewinding.shapley import EXACT, Coalitions

Tested = TypeVar("Tested")
Names = tuple[str, ...]
"""A set of blocks, by depth."""


def rewind(
    change: Change,
    test: Callable[[bool], Tested],
    limit: int = EXACT,
    as_it_is: Tested | None = None,
    seed: int = 0,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> dict[Names, Tested]:
    """Test a network with sets of its blocks put back to an earlier network's.

    Args:
        change: The two networks, and the blocks.
        test: Function that tests the network on the examples of the earlier task or, if
            its flag is set, of all tasks. It is set where at most one block is put back.
        limit: The number of sets up to which all are tested, see `Coalitions`.
        as_it_is: The result for the network itself, if it is known.
        seed: The seed of random orders.
        progress: Function that wraps the sets, as `tqdm` does.

    Returns:
        The results by set of blocks, of those that have changed.
    """
    sets = sets_of(change.changed, limit, seed)
    results = {}
    for number in progress(range(len(sets))):
        names = sets[number]
        if not names and as_it_is is not None:
            results[names] = as_it_is
            continue
        with change.rewound(names):
            results[names] = test(len(names) < 2)
    return results


def sets_of(changed: Iterable[str], limit: int = EXACT, seed: int = 0) -> list[Names]:
    """Return the sets of blocks that are put back, of those that have changed."""
    blocks = list(changed)
    design = Coalitions(players=len(blocks), limit=limit, seed=seed)
    return [tuple(_members(blocks, mask)) for mask in design.masks]


def _members(blocks: Iterable[str], mask: int) -> Iterator[str]:
    for k, name in enumerate(blocks):
        if mask >> k & 1:
            yield name


@immutable(eq=False)
class Rewinding:
    """The scores of a network with the blocks of one earlier network put back.

    Attributes:
        scores: v_j(S) for each of N test examples, (N,), by set of the m blocks that
            have changed since; of tasks other than j only for sets of at most one
            block.
        of_task: Whether an example is one of task j, (N,).
        limit: See `rewind`.
        seed: See `rewind`.
    """

    scores: Mapping[Names, Floats]
    of_task: Bools
    limit: int = EXACT
    seed: int = 0

    @cached_property
    def blocks(self) -> Names:
        """The m blocks that have changed, by depth; the others have no part in it."""
        return max(self.scores, key=len)

    @property
    def worse_end(self) -> float:
        """The worse of the two networks' mean scores, min(v(all), v(none))."""
        return min(self._means[0], self._means[max(self._means)])

    @property
    def deficit(self) -> float:
        """How far mixtures of both networks lie below the worse of the two, on average.

        min(v(all), v(none)) - v(S), the mean over sets of each size 0 < |S| < m, then
        over sizes; NaN for fewer than two blocks. Weights that do not correspond do not
        work together.
        """
        worse_end = self.worse_end
        by_size: dict[int, list[float]] = {}
        for mask, value in self._means.items():
            by_size.setdefault(mask.bit_count(), []).append(worse_end - value)
        by_size.pop(0)
        by_size.pop(len(self.blocks), None)
        if not by_size:
            return nan
        return fmean(map(fmean, by_size.values()))

    @cached_property
    def _means(self) -> dict[int, float]:
        return {mask: float(x.mean()) for mask, x in self._of_task.items()}

    @property
    def sampling_error(self) -> dict[str, float]:
        """The standard error that drawing orders adds to the mean of what is attributed."""
        errors = self._coalitions.error(self._of_task)
        return dict(zip(self.blocks, errors.tolist(), strict=True))

    def quantities(self, features: Collection[str]) -> dict[tuple[str, str], Floats]:
        """Return the quantities of each example, (N,): 0 for other tasks than j, except `net`.

        Args:
            features: The names of all blocks; one that has not changed has 0
                everywhere.

        Returns:
            The values by block and quantity; the block of `lost` is empty.
        """
        values = self._of_task
        design = self._coalitions
        by_quantity = {
            "attributed": self._on_all(design.attributed(values)),
            "restored": self._on_all(design.alone(values)),
            "broken": self._on_all(design.last(values)),
            "net": design.alone(self._by_mask),
        }
        (lost,) = self._on_all(values[max(values)] - values[0])
        result = {("", "lost"): lost}
        for quantity, rows in by_quantity.items():
            of_block = dict(zip(self.blocks, rows, strict=True))
            for feature in features:
                zeros = np.zeros_like(lost)
                result[feature, quantity] = of_block.get(feature, zeros)
        return result

    def _on_all(self, of_task: Floats) -> Floats:
        """Return values of examples of the task (m, n) as those of all, (m, N)."""
        n_rows = len(np.atleast_2d(of_task))
        values = np.zeros((n_rows, len(self.of_task)))
        values[:, self.of_task] = of_task
        return values

    @cached_property
    def _coalitions(self) -> Coalitions:
        return Coalitions(players=len(self.blocks), limit=self.limit, seed=self.seed)

    @cached_property
    def _by_mask(self) -> dict[int, Floats]:
        bit = {name: 1 << k for k, name in enumerate(self.blocks)}
        by_mask = {}
        for names, scores in self.scores.items():
            by_mask[sum(bit[name] for name in names)] = scores
        return by_mask

    @cached_property
    def _of_task(self) -> dict[int, Floats]:
        return {mask: x[self.of_task] for mask, x in self._by_mask.items()}
