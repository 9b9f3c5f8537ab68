"""The quantities of a layer (retained, forgotten, never learned), each with its interval.

A is the accuracy of a readout of a feature, floor b of the untrained network's, ceiling C of the
offline-trained network's; a row t is the network after t tasks. A `place` is a task position in
executed order: at position p, the test examples of each order's p-th task count, averaged over the
orders within a seed. None stands for all tasks, weighted by their numbers of test examples.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probe.analysis.crossed import Design, Floats
from probe.analysis.intervals import Estimate, mean_of, ratio_of
from probe.analysis.places import Place, of_all, of_place, scores_by_place, together

Right = NDArray[np.bool_]

NAMES = (
    "accuracy",
    "floor",
    "ceiling",
    "missing",
    "above_floor",
    "retained",
    "forgotten",
    "never_learned",
    "since_learned",
)
"""The quantities, in the order in which they are listed; `quantities` says what each is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TestLayout:
    """The n test examples, in the order in which all evaluations have them.

    tasks: (n,), the task of each, 0..T-1 as the scenario numbers them; strata: (n,), one number
    for each task and class; orders: (O, T), the task at each position of each order.
    """

    # The name is no test's.
    __test__: ClassVar[bool] = False

    tasks: NDArray[np.integer]
    strata: NDArray[np.integer]
    orders: NDArray[np.integer]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerOutcomes:
    """The right test examples downstream of one feature, by one learner and readout.

    rows: by tasks learned t, 0..T, (S, O, n) for S seeds and O orders; row T is needed. floor,
    ceiling: (S, n), by the same seeds, None where not measured.
    """

    rows: Mapping[int, Right]
    floor: Right | None = None
    ceiling: Right | None = None


@dataclass(frozen=True, kw_only=True)
class Quantity(Estimate):
    """One quantity, as a fraction, with its interval; place: 1..T, None for all tasks."""

    quantity: str
    place: int | None


def quantities(outcomes: LayerOutcomes, layout: TestLayout) -> list[Quantity]:
    """Return all quantities that the outcomes allow, for all tasks and each task position, 1..T.

    - `accuracy` A of the last row; `floor` b; `ceiling` C
    - `missing` = C - A; `above_floor` = A - b
    - `retained` = (A - b) / (C - b); NaN where C - b is not significantly above 0
    - `forgotten` = the best measured row before the last - A
    - `never_learned` = C - the best row, including the last
    - `since_learned` = row p at position p - A, for the tasks before the last: with a linear
      readout deep forgetting, at the output shallow forgetting

    The floor is row 0 where there is no other. The best row is chosen for each position, by its
    mean over seeds and orders, the earliest of equals. As a maximum of noisy means it is too high
    by chance: `forgotten` is biased upward and `never_learned` downward, by almost nothing where
    one row is clearly best, by up to sqrt(2 ln k) standard errors of a row where k are similar; the
    intervals do not include this bias. Both need a row between the first task and the last. For all
    tasks these and `since_learned` are the mean over positions.

    With one seed there are values without intervals. Raises InputError for fewer than 2 examples.
    """
    return _Layer(outcomes, layout).all()


class _Layer:
    """One feature's outcomes, by place."""

    def __init__(self, outcomes: LayerOutcomes, layout: TestLayout) -> None:
        tasks, orders = layout.tasks, layout.orders
        self._layout, self._T = layout, orders.shape[1]
        self._b, self._C = outcomes.floor, outcomes.ceiling
        self._A = outcomes.rows[self._T]
        rows = dict(outcomes.rows)
        if self._b is not None and 0 not in rows:
            rows[0] = np.broadcast_to(self._b[:, None], self._A.shape)
        self._rows = dict(sorted(rows.items()))
        places = [of_place(tasks, orders, place) for place in range(1, self._T + 1)]
        self._places = [(place, self._design(place)) for place in places]

    def all(self) -> list[Quantity]:
        """Return the measured quantities by name, those of all tasks first."""
        tasks, orders = self._layout.tasks, self._layout.orders
        every = of_all(len(tasks))
        found = list(self._at(every, self._design(every)))
        scores = np.array([scores_by_place(row, tasks, orders) for row in self._rows.values()])
        over_time = any(0 < t < self._T for t in self._rows)
        lost: dict[str, list[tuple[Place, Floats]]] = {}
        for (place, design), by_row in zip(self._places, scores.T, strict=True):
            found += self._at(place, design)
            for name, e in self._over_time(place, by_row) if over_time else ():
                found.append(_quantity(name, place, mean_of(design, e)))
                lost.setdefault(name, []).append((place, e))
        for name, each in lost.items():
            # Not where a row of its own is missing at one of the places.
            if len(each) == self._T - (name == "since_learned"):
                mean, e = together(*zip(*each, strict=True))
                found.append(_quantity(name, mean, mean_of(self._design(mean), e)))
        return sorted(found, key=lambda q: (NAMES.index(q.quantity), q.place or 0))

    def _at(self, place: Place, design: Design) -> Iterator[Quantity]:
        """Yield the quantities of the last row, floor and ceiling at a task position."""
        A = place.mean(self._A)
        b, C = (x if x is None else place.mean(x) for x in (self._b, self._C))
        values = {"accuracy": A}
        if b is not None:
            values |= {"floor": b, "above_floor": A - b}
        if C is not None:
            values |= {"ceiling": C, "missing": C - A}
        for name, e in values.items():
            yield _quantity(name, place, mean_of(design, e))
        if b is not None and C is not None:
            yield _quantity("retained", place, ratio_of(design, A - b, C - b))

    def _over_time(self, place: Place, scores: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield the quantities over time at a task position; scores: of the rows, in order.

        Of equal rows, the earliest is the best.
        """
        rows = list(self._rows.values())
        A, past, ever = place.mean(self._A), int(scores[:-1].argmax()), int(scores.argmax())
        best = place.mean(rows[past])
        yield "forgotten", best - A
        if self._C is not None:
            yield "never_learned", place.mean(self._C) - (best if ever == past else A)
        if place.place in self._rows and place.place != self._T:
            yield "since_learned", place.mean(self._rows[place.place]) - A

    def _design(self, place: Place) -> Design:
        return Design(place.weights, self._layout.strata[place.examples])


def _quantity(name: str, place: Place, estimate: Estimate) -> Quantity:
    low, high = estimate.low, estimate.high
    if name in ("accuracy", "floor", "ceiling"):
        # Nothing else can be true of an accuracy; NaN stays.
        low, high = float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
    bounded = replace(estimate, low=low, high=high)
    return Quantity(quantity=name, place=place.place, **vars(bounded))
