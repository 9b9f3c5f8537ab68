"""Test examples by place in the executed order: which count, and by how much.

Source: Murata 2020 (tasks are indexed by place, which is averaged over the rotations).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.analysis.crossed import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """The test examples at one place of O orders, or of all tasks.

    place: 1..T, None for all tasks; weights: (n,), of sum 1, what each example weighs in the
    mean; used: (O, n), in which orders it is at this place, None where in all.
    """

    place: int | None
    weights: Floats
    used: NDArray[np.bool_] | None = None

    def mean(self, right: NDArray[np.bool_]) -> Floats:
        """Return the mean over the orders in which an example counts, (S, n), 0 where in none.

        right: (S, O, n), or (S, n) where it is the same in all orders.
        """
        if right.ndim == 2:
            return right.astype(np.float64)
        if self.used is None:
            return np.asarray(right.mean(axis=1))
        total = np.zeros((right.shape[0], right.shape[2]))
        for order, used in enumerate(self.used):
            total[:, used] += right[:, order, used]
        return np.asarray(total / np.maximum(self.used.sum(axis=0), 1))


def of_all(examples: int) -> Place:
    """Return the place of all n examples, all alike."""
    return Place(place=None, weights=np.full(examples, 1 / examples))


def of_place(tasks: NDArray[np.integer], orders: NDArray[np.integer], place: int) -> Place:
    """Return one place, 1..T, of orders (O, T) of the tasks that n examples have, (n,).

    The orders weigh the same, and within each the examples of its task.

    >>> of_place(np.array([0, 0, 1]), np.array([[0, 1], [1, 0]]), 1).weights.tolist()
    [0.25, 0.25, 0.5]
    """
    used = tasks == orders[:, place - 1, None]
    each = used / used.sum(axis=1, keepdims=True)
    return Place(place=place, weights=each.mean(axis=0), used=used)


def together(places: Sequence[Place], values: Sequence[Floats]) -> tuple[Place, Floats]:
    """Return the mean over places as one place and its values, (S, n), from those of each."""
    weights = np.mean([place.weights for place in places], axis=0)
    total = np.mean([p.weights * e for p, e in zip(places, values, strict=True)], axis=0)
    e = np.divide(total, weights, out=np.zeros_like(total), where=weights > 0)
    return Place(place=None, weights=weights), e


def scores_by_place(
    right: NDArray[np.bool_], tasks: NDArray[np.integer], orders: NDArray[np.integer]
) -> Floats:
    """Return the accuracy at each place, (T,), over seeds and orders, from (S, O, n)."""
    T = orders.shape[1]
    hits = [np.bincount(tasks, weights=row, minlength=T) for row in right.mean(axis=0)]
    by_task = np.array(hits) / np.bincount(tasks, minlength=T)
    return np.asarray(np.take_along_axis(by_task, orders, axis=1).mean(axis=0))
