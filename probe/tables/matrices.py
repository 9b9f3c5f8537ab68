"""A[l, t, j] out of rows: the accuracy matrix of every feature, as a mean over orders and seeds.

R itself is the matrix of the feature that is the output: rows of R name no feature, and that it is
the output is told by its PRA, which has no readout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError, unknown
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.mean_over_seeds import mean_over_seeds
from probe.metrics.murata import RETRAIN
from probe.tables.rows import Row

OFFLINE, UNTRAINED = "offline", "untrained"
"""The learners behind whose features are ceiling and floor; they have no order."""


class _Run(NamedTuple):
    order: str
    seed: int


_Cells = Mapping[_Run, Mapping[str, float]]
"""The accuracies of one step of each run, by task."""


class Matrices:
    """What the rows of one study or analysis say of each learner, feature and readout.

    head: the main one, which R is of: the first in the rows; places: by order, the task at each of
    its T places. Raises InputError for a place that no table can have.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        table = list(rows)
        self.head = next((row.head for row in table if row.head), "")
        self._depths: dict[str, dict[str, int]] = {}
        self._outputs: dict[str, dict[str, None]] = {}
        self._readouts: dict[str, None] = {}
        self._seeds: dict[int, None] = {}
        self._cells: dict[tuple[str, str, str], dict[int, dict[_Run, dict[str, float]]]] = {}
        orders: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for row in table:
            self._depths.setdefault(row.learner, {})
            self._seeds[row.seed] = None
            if row.feature:
                self._depths[row.learner].setdefault(row.feature, row.depth or 0)
            if row.readout:
                self._readouts[row.readout] = None
            elif row.measure == "pra":
                self._outputs.setdefault(row.learner, {})[row.feature] = None
            if row.place is not None:
                orders[row.order][row.place] = row.task
        self.tasks = max((max(own) for own in orders.values()), default=0)
        self.places = {order: _places(order, own, self.tasks) for order, own in orders.items()}
        for row in table:
            if row.measure == "accuracy" and row.head in ("", self.head):
                self._add(row)

    def _add(self, row: Row) -> None:
        # Tables of earlier versions had the last step alone, and did not name it.
        step = self.tasks if row.step is None else row.step
        if step > self.tasks:
            raise InputError(f"a row is of step {step}, and there are {self.tasks} tasks")
        steps = self._cells.setdefault((row.learner, row.feature, row.readout), {})
        steps.setdefault(step, {}).setdefault(_Run(row.order, row.seed), {})[row.task] = row.value

    @property
    def learners(self) -> tuple[str, ...]:
        """Those that learn task by task, in order of first appearance."""
        return tuple(name for name in self._depths if name not in (OFFLINE, UNTRAINED))

    @property
    def levels(self) -> tuple[str, ...]:
        """Those of floor and ceiling that there are."""
        return tuple(name for name in (UNTRAINED, OFFLINE) if name in self._depths)

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders of tasks, in order of first appearance."""
        return tuple(order for order in self.places if order)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, ascending."""
        return tuple(sorted(self._seeds))

    @property
    def features(self) -> tuple[str, ...]:
        """All features, by depth."""
        found: dict[str, int] = {}
        for own in self._depths.values():
            found = {**own, **found}
        return tuple(sorted(found, key=lambda name: found[name]))

    @property
    def readouts(self) -> tuple[str, ...]:
        """What was trained behind features, in order of first appearance.

        Retraining, where nothing was measured but outputs.
        """
        return tuple(self._readouts) or (RETRAIN,)

    def outputs(self, learner: str) -> tuple[str, ...]:
        """Return which features of a learner are its network's own output."""
        return tuple(self._outputs.get(learner, ()))

    def steps(self, learner: str) -> tuple[int, ...]:
        """Return after how many tasks anything of a learner was measured, ascending."""
        own = [steps for key, steps in self._cells.items() if key[0] == learner]
        return tuple(sorted({step for steps in own for step in steps}))

    def R(self, learner: str) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """Return the accuracy matrix of a learner itself, (T+1, T), under the main head."""
        return self._matrix(learner, ("", ""))

    def matrix(self, learner: str, feature: str, readout: str) -> AccuracyMatrix:
        """Return a feature's own matrix, (T+1, T); NaN = not measured; row 0 is the floor.

        At the output it is R, whatever the readout. Raises InputError for a feature or readout that
        there is not.
        """
        return self._matrix(learner, self._key(learner, feature, readout))

    def ceiling(self, learner: str, feature: str, readout: str) -> NDArray[np.float64]:
        """Return the same of the offline-trained network, (T,), by place; NaN without one."""
        found = self._level(OFFLINE, learner, self._key(learner, feature, readout))
        return self._mean(found) if found else np.full(self.tasks, np.nan)

    def _key(self, learner: str, feature: str, readout: str) -> tuple[str, str]:
        """Return under which feature and readout the cells of a matrix are."""
        asked = (("feature", feature, self.features), ("readout", readout, self.readouts))
        for kind, name, names in asked:
            if name not in names:
                raise unknown(f"{kind} of this analysis", name, names)
        return ("", "") if feature in self.outputs(learner) else (feature, readout)

    def _matrix(self, learner: str, key: tuple[str, str]) -> AccuracyMatrix:
        values = np.full((self.tasks + 1, self.tasks), np.nan)
        own = self._cells.get((learner, *key), {})
        if 0 not in own and (floor := self._level(UNTRAINED, learner, key)):
            values[0] = self._mean(floor)
        for step, runs in own.items():
            values[step] = self._mean(runs)
        return AccuracyMatrix(values)

    def _level(self, level: str, learner: str, key: tuple[str, str]) -> _Cells | None:
        """Return what a level's last network gives in each order that a learner had.

        None where there is none, and for a learner whose network has other layers.
        """
        steps = self._cells.get((level, *key))
        if not steps or not self._depths[learner].items() <= self._depths[level].items():
            return None
        found = steps[max(steps)]
        orders = {run.order for own in self._cells if own[0] == learner for run in self._runs(own)}
        return {_Run(order, run.seed): own for order in orders for run, own in found.items()}

    def _runs(self, key: tuple[str, str, str]) -> Iterable[_Run]:
        return (run for runs in self._cells[key].values() for run in runs)

    def _mean(self, runs: _Cells) -> NDArray[np.float64]:
        """Return the accuracy at each place, (T,)."""
        places = range(1, self.tasks + 1)
        each = [
            [(run.seed, own.get(self.places[run.order].get(at, ""), np.nan)) for at in places]
            for run, own in runs.items()
        ]
        return np.array([_mean(pairs) for pairs in zip(*each, strict=True)])


def _mean(pairs: Sequence[tuple[int, float]]) -> float:
    """Return the mean over orders, then over seeds; equal values have it to the last bit."""
    if len({value for _, value in pairs}) == 1:
        return pairs[0][1]
    found = mean_over_seeds(pairs)
    return found.mean if found else float("nan")


def _places(order: str, own: Mapping[int, str], tasks: int) -> Mapping[int, str]:
    # A damaged place could ask for a matrix of any size.
    if len(own) < tasks:
        raise InputError(
            f"the rows name {tasks} tasks, of which order {order!r} has {len(own)}: give all rows "
            f"of its tasks"
        )
    return own
