"""Test examples by task position in the executed order, with their weights.

Source: Murata 2020 (tasks are indexed by position, averaged over the rotations).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.analysis.crossed import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """The test examples at one task position of O orders, or of all tasks.

    task_position: 1..T, None for all tasks; examples: (m,), numbers of those that count, of n;
    weights: (m,), of sum 1, in the mean; used: (O, m), the orders with the example at this
    position, None for all orders.
    """

    task_position: int | None
    examples: NDArray[np.intp]
    weights: Floats
    used: NDArray[np.bool_] | None = None

    def mean(self, right: NDArray[np.bool_] | Floats) -> Floats:
        """Return the mean over the orders in which an example counts, (S, m).

        right: (S, O, n), or (S, n) where it is the same in all orders.
        """
        if right.ndim == 2:
            return right[:, self.examples].astype(np.float64)
        if self.used is None:
            return np.asarray(right[..., self.examples].mean(axis=1))
        total = np.zeros((right.shape[0], len(self.examples)))
        for order, used in enumerate(self.used):
            total[:, used] += right[:, order, self.examples[used]]
        return np.asarray(total / self.used.sum(axis=0))


def of_all(examples: int) -> Place:
    """Return all n examples, of equal weight."""
    return Place(
        task_position=None, examples=np.arange(examples), weights=np.full(examples, 1 / examples)
    )


def of_place(tasks: NDArray[np.integer], orders: NDArray[np.integer], place: int) -> Place:
    """Return one task position, 1..T, of orders (O, T) of the tasks (n,) of n examples.

    The orders weigh the same, and within each the examples of its task.

    >>> of_place(np.array([0, 0, 1]), np.array([[0, 1], [1, 0]]), 1).weights.tolist()
    [0.25, 0.25, 0.5]
    """
    used = tasks == orders[:, place - 1, None]
    examples = np.flatnonzero(used.any(axis=0))
    weights = (used / used.sum(axis=1, keepdims=True)).mean(axis=0)
    return Place(
        task_position=place, examples=examples, weights=weights[examples], used=used[:, examples]
    )


def together(places: Sequence[Place], values: Sequence[Floats]) -> tuple[Place, Floats]:
    """Return the mean over task positions as one `Place` and its values, (S, m)."""
    n = 1 + max(int(place.examples.max()) for place in places)
    weights, total = np.zeros(n), np.zeros((len(values[0]), n))
    for place, e in zip(places, values, strict=True):
        weights[place.examples] += place.weights / len(places)
        total[:, place.examples] += place.weights / len(places) * e
    examples = np.flatnonzero(weights)
    whole = Place(task_position=None, examples=examples, weights=weights[examples])
    return whole, total[:, examples] / whole.weights
