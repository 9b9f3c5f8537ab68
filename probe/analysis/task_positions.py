"""Test examples by task position in the executed order, with their weights.

Source: Murata 2020 (tasks are indexed by position, averaged over the rotations).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class TaskPosition:
    """The test examples at one task position of O orders, or of all tasks.

    Attributes:
        number: The number of the position, 1 to T; None = all tasks.
        examples: The indices of the m examples at the position, (m,), among n.
        weights: The weights of these examples in the mean, (m,), which sum to 1.
        used: Whether each order has each example at this position, (O, m); None if all
            orders do.
    """

    number: int | None
    examples: Ints
    weights: Floats
    used: Bools | None = None

    def mean(self, right: Bools | Floats) -> Floats:
        """Return the mean over the orders in which an example counts.

        Args:
            right: Correctness (S, O, n), or (S, n) where it is the same in all orders.

        Returns:
            The mean by seed and example, (S, m).
        """
        if right.ndim == 2:
            return right[:, self.examples].astype(np.float64)
        if self.used is None:
            return np.asarray(right[..., self.examples].mean(axis=1))
        total = np.zeros((right.shape[0], len(self.examples)))
        for order, used in enumerate(self.used):
            total[:, used] += right[:, order, self.examples[used]]
        return np.asarray(total / self.used.sum(axis=0))


def over_all_tasks(n: int) -> TaskPosition:
    """Return all n examples, equally weighted, as one position."""
    return TaskPosition(None, np.arange(n), np.full(n, 1 / n))


def at_position(tasks: Ints, orders: Ints, position: int) -> TaskPosition:
    """Return the test examples at one task position, with the same total weight for each order.

    Args:
        tasks: The task of each example, (n,).
        orders: The task at each position of each order, (O, T).
        position: The task position, 1 to T.

    Returns:
        The examples; all examples of one order's task have the same weight.

    >>> at_position(np.array([0, 0, 1]), np.array([[0, 1], [1, 0]]), 1).weights.tolist()
    [0.25, 0.25, 0.5]
    """
    used = tasks == orders[:, position - 1, None]
    examples = np.flatnonzero(used.any(axis=0))
    weights = (used / used.sum(axis=1, keepdims=True)).mean(axis=0)[examples]
    return TaskPosition(
        position,
        examples,
        weights,
        used[:, examples],
    )


def average_over(
    positions: Sequence[TaskPosition], values: Sequence[Floats]
) -> tuple[TaskPosition, Floats]:
    """Average over task positions.

    Args:
        positions: The task positions.
        values: The values at each position, (S, m).

    Returns:
        One `TaskPosition` for all positions, and its values, (S, m).
    """
    n = 1 + max(int(position.examples.max()) for position in positions)
    weights = np.zeros(n)
    total = np.zeros((len(values[0]), n))
    for position, e in zip(positions, values, strict=True):
        share = position.weights / len(positions)
        weights[position.examples] += share
        total[:, position.examples] += share * e
    examples = np.flatnonzero(weights)
    mean = TaskPosition(None, examples, weights[examples])
    return mean, total[:, examples] / mean.weights
