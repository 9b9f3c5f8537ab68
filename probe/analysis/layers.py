"""The quantities of a layer: missing, never learned, forgotten, retained, each with its interval.

A[t, j] is the accuracy of a readout of a feature on the task at position j after t of T tasks,
floor b that of the untrained network's feature, ceiling C of the offline-trained network's. A
task position j is that in executed order: the test examples of each order's j-th task count,
averaged over the orders within a seed. None stands for all tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from probe.analysis.intervals import Estimate, mean_of, ratio_of
from probe.analysis.task_positions import (
    TaskPosition,
    at_position,
    mean_over_positions,
    over_all_tasks,
)
from probe.analysis.variance import Design, Floats

Right = NDArray[np.bool_]

NAMES = (
    "accuracy",
    "floor",
    "ceiling",
    "missing",
    "never_learned",
    "forgotten",
    "forgotten_max",
    "forgotten_share",
    "never_learned_slope",
    "above_floor",
    "acquired",
    "retained",
)
"""The quantities, in the order in which they are listed; `quantities` says what each is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TestLayout:
    """The n test examples, in the order in which all evaluations have them.

    Attributes:
        tasks: (n,), the task of each, 0..T-1 as the scenario numbers them.
        strata: (n,), one number for each task and class.
        orders: (O, T), the task at each position of each order.
    """

    # The name is no test's.
    __test__: ClassVar[bool] = False

    tasks: NDArray[np.integer]
    strata: NDArray[np.integer]
    orders: NDArray[np.integer]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerOutcomes:
    """The test examples classified correctly downstream of one feature.

    They are those of one learner and readout.

    Attributes:
        rows: By tasks learned t, 0..T, (S, O, n) for S seeds and O orders; row T is needed.
        floor: (S, n), for the same seeds, None if not measured.
        ceiling: (S, n), for the same seeds, None if not measured.
    """

    rows: Mapping[int, Right]
    floor: Right | None = None
    ceiling: Right | None = None


@dataclass(frozen=True, kw_only=True)
class Quantity(Estimate):
    """One quantity of a layer, as a fraction, with its interval.

    Its task position is 1..T, None for all tasks.
    """

    quantity: str
    task_position: int | None

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns of tables."""
        return {name: value for name, value in vars(self).items() if name != "seed_values"}


def quantities(outcomes: LayerOutcomes, layout: TestLayout) -> list[Quantity]:
    """Return all quantities that the outcomes allow, for all tasks and each task position, 1..T.

    - `accuracy` A[T, j]; `floor` b; `ceiling` C
    - `missing` M = C - A[T, j]; `never_learned` N = C - A[j, j]; `forgotten` F = A[j, j] - A[T, j],
      only for j < T: M = N + F at each position, to the last bit, and M = N at the last
    - `forgotten_max`, for j < T: the best of A[j, j] to A[T-1, j] of each run - A[T, j]. As the
      maximum of noisy values it is too high by chance, which its interval does not include
    - `above_floor` = A[T, j] - b; `acquired` = A[j, j] - b
    - `retained` = (A[T, j] - b) / (C - b); NaN where C - b is not significantly above 0

    For all tasks test examples weigh the same, but `forgotten` and `forgotten_max` are means over
    the positions j < T, as in the literature. Only of all tasks: `forgotten_share` = 1 - N / M,
    NaN where M is not significantly above 0; `never_learned_slope`, by least squares over the
    positions, of T >= 3 tasks, above 0 where each task is learned worse than the one before.

    Args:
        outcomes: The right test examples of one layer.
        layout: The tasks, strata and orders of the test examples.

    Returns:
        The quantities, without those that need a row that was not measured; with one seed without
        intervals.

    Raises:
        InputError: There are fewer than 2 examples.

    Source: Chaudhry 2018 (`forgotten_max`; they count rows before j too, where nothing of the task
    was learned); `forgotten` is minus GEM's backward transfer.
    """
    layer = _Layer(outcomes, layout)
    positions = [at_position(layout.tasks, layout.orders, p) for p in range(1, layer.T + 1)]
    listed = layer.at(over_all_tasks(len(layout.tasks)))
    for position in positions:
        listed += layer.at(position)
    listed += layer.over_positions(positions)
    return sorted(listed, key=lambda q: (NAMES.index(q.quantity), q.task_position or 0))


class _Layer:
    """One feature's outcomes, by task position."""

    def __init__(self, outcomes: LayerOutcomes, layout: TestLayout) -> None:
        self._layout, self._rows, self.T = layout, outcomes.rows, layout.orders.shape[1]
        self._b, self._C = outcomes.floor, outcomes.ceiling
        self._A = outcomes.rows[self.T]
        # As each task was classified once it was learned, and by the best row from there on.
        self._learned, self._best = np.zeros_like(self._A), np.zeros_like(self._A)
        self._has_best = set[int]()
        for position in set(range(1, self.T + 1)) & set(self._rows):
            self._fill(position)

    def at(self, position: TaskPosition) -> list[Quantity]:
        """Return the quantities at a task position, or over all test examples."""
        design, e = self._design(position), self._values(position)
        estimates = {name: mean_of(design, values) for name, values in e.items()}
        if {"missing", "forgotten"} <= set(estimates):
            total = estimates["never_learned"].value + estimates["forgotten"].value
            estimates["missing"] = replace(estimates["missing"], value=total)
        if {"floor", "ceiling"} <= set(e):
            estimates["retained"] = ratio_of(design, e["above_floor"], e["ceiling"] - e["floor"])
        if position.position is None and "never_learned" in e:
            lost = e["missing"] - e["never_learned"]
            estimates["forgotten_share"] = ratio_of(design, lost, e["missing"])
        return [quantity(name, position, estimate) for name, estimate in estimates.items()]

    def over_positions(self, positions: Sequence[TaskPosition]) -> Iterator[Quantity]:
        """Yield the quantities that are means or slopes over task positions."""
        e = [self._values(position) for position in positions]
        for name in ("forgotten", "forgotten_max"):
            values = [e_j[name] for e_j in e[:-1] if name in e_j]
            if values and len(values) == self.T - 1:
                yield self._combined(name, positions[:-1], values)
        if self.T > 2 and all("never_learned" in e_j for e_j in e):
            j = np.arange(self.T) - (self.T - 1) / 2
            weights = self.T * j / (j @ j)
            values = [w * e_j["never_learned"] for w, e_j in zip(weights, e, strict=True)]
            yield self._combined("never_learned_slope", positions, values)

    def _values(self, position: TaskPosition) -> dict[str, Floats]:
        """Return the quantities that are means, (S, m), at the test examples of a position."""
        A, p, T = position.mean(self._A), position.position, self.T
        values = {"accuracy": A}
        if self._b is not None:
            b = position.mean(self._b)
            values |= {"floor": b, "above_floor": A - b}
        if self._C is not None:
            C = position.mean(self._C)
            values |= {"ceiling": C, "missing": C - A}
        if ({p} if p else set(range(1, T + 1))) <= set(self._rows):
            learned = position.mean(self._learned)
            values |= {"acquired": learned - b} if self._b is not None else {}
            values |= {"never_learned": C - learned} if self._C is not None else {}
            values |= {"forgotten": learned - A} if p not in (None, T) else {}
        if p in self._has_best:
            values["forgotten_max"] = position.mean(self._best) - A
        return values

    def _fill(self, position: int) -> None:
        """Fill in the rows `learned` and `best` of each order's task at a position."""
        later = [self._rows[t] for t in range(position, self.T) if t in self._rows]
        for order, task in enumerate(self._layout.orders[:, position - 1]):
            examples = np.flatnonzero(self._layout.tasks == task)
            self._learned[:, order, examples] = self._rows[position][:, order, examples]
            if later and len(later) == self.T - position:
                rows = np.stack([row[:, order, examples] for row in later])
                best = rows.mean(axis=2).argmax(axis=0)
                self._best[:, order, examples] = rows[best, np.arange(len(best))]
                self._has_best.add(position)

    def _combined(
        self, name: str, positions: Sequence[TaskPosition], values: Sequence[Floats]
    ) -> Quantity:
        mean, e = mean_over_positions(positions, values)
        return quantity(name, mean, mean_of(self._design(mean), e))

    def _design(self, position: TaskPosition) -> Design:
        return Design(position.weights, self._layout.strata[position.examples])


def quantity(name: str, position: TaskPosition, estimate: Estimate) -> Quantity:
    """Return an estimate as a quantity of a task position, its interval clipped to possible values.

    Args:
        name: Name of the quantity.
        position: The task position.
        estimate: The estimate.

    Returns:
        The quantity.
    """
    if name not in ("retained", "forgotten_share"):
        # Nothing beyond can be true of an accuracy, or of a difference of two; NaN stays.
        least = 0 if name in ("accuracy", "floor", "ceiling") else -1
        low, high = (float(np.clip(end, least, 1)) for end in (estimate.low, estimate.high))
        estimate = replace(estimate, low=low, high=high)
    return Quantity(quantity=name, task_position=position.position, **vars(estimate))
