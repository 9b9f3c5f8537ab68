"""A[l, t, j] from rows: the accuracy matrix of every feature, as a mean over orders and seeds.

R itself is the matrix of the feature that is the output: rows of R name no feature, and the output
is the feature whose PRA has no readout.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probe.analysis.intervals import mean_over_seeds
from probe.errors import InputError, unknown
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN
from probe.tables.frames import to_frame
from probe.tables.rows import CONTROLS, OFFLINE as OFFLINE, UNTRAINED as UNTRAINED, MeasurementRow

_MATRIX = ["learner", "feature", "readout"]
_RUN = ["tasks_seen", "order", "seed"]


class Matrices:
    """Accuracy matrices of one study or analysis, by learner, feature and readout.

    - head: the main one, which R is of: the first in the rows; tasks: T, their number;
    - places: by order, the task at each position; orders: in order of first appearance;
    - learners: those that learn task by task, in order of first appearance; levels: the controls;
    - seeds: ascending; features: by depth; readouts: in order of first appearance, `retrain` if
      only outputs were measured;
    - table: the rows as a DataFrame, each with a step.

    Raises InputError for a position or step that the number of tasks rules out.
    """

    def __init__(self, rows: Iterable[MeasurementRow]) -> None:
        table = to_frame(rows)
        names = table["learner"].unique().tolist()
        self.learners = tuple(name for name in names if name not in CONTROLS)
        self.levels = tuple(name for name in CONTROLS if name in names)
        self.seeds = tuple(sorted(table["seed"].unique().tolist()))
        self.readouts = tuple(filter(None, table["readout"].unique())) or (RETRAIN,)
        self.head: str = next(filter(None, table["head"]), "")
        placed = table.dropna(subset="task_position").drop_duplicates(
            ["order", "task_position"], keep="last"
        )
        self._placed = placed[["order", "task", "task_position"]]
        self.places: dict[str, dict[int, str]] = {
            order: dict(zip(own["task_position"].tolist(), own["task"].tolist(), strict=True))
            for order, own in placed.groupby("order", sort=False)
        }
        self.orders = tuple(filter(None, self.places))
        self.tasks = max((max(own) for own in self.places.values()), default=0)
        named = table[table["feature"] != ""].drop_duplicates(["learner", "feature"])
        self._layers = named.assign(depth=named["depth"].fillna(0))[["learner", "feature", "depth"]]
        by_depth = self._layers.drop_duplicates("feature").sort_values("depth", kind="stable")
        self.features = tuple(by_depth["feature"])
        # Tables of earlier versions have the last step alone, and do not name it.
        self.table = table.assign(tasks_seen=table["tasks_seen"].fillna(self.tasks))
        outputs = self.table[(table["metric"] == "pra") & (table["readout"] == "")]
        self._outputs = outputs.drop_duplicates(["learner", "feature"])
        self._group(self.table[(table["metric"] == "accuracy")])
        self._made: dict[tuple[str, ...], AccuracyMatrix] = {}

    def _group(self, cells: pd.DataFrame) -> None:
        """Keep the accuracies under the main head, by learner, feature and readout."""
        cells = cells[cells["head"].isin(["", self.head])]
        # A damaged position or step could ask for a matrix of any size.
        for order, own in self.places.items():
            if len(own) < self.tasks:
                raise InputError(
                    f"the rows name {self.tasks} tasks, of which order {order!r} has {len(own)}: "
                    f"give all rows of its tasks"
                )
        for tasks_seen in cells["tasks_seen"][cells["tasks_seen"] > self.tasks]:
            raise InputError(f"a row is after {tasks_seen} tasks, and there are {self.tasks}")
        cells = cells.drop_duplicates([*_MATRIX, *_RUN, "task"], keep="last").drop(
            columns="task_position"
        )
        self._cells, self._none = dict(list(cells.groupby(_MATRIX))), cells[:0]
        self._orders = cells[["learner", "order"]].drop_duplicates()

    def outputs(self, learner: str) -> tuple[str, ...]:
        """Return the features of a learner that are its network's own output."""
        return tuple(self._outputs["feature"][self._outputs["learner"] == learner])

    def steps(self, learner: str) -> tuple[int, ...]:
        """Return the numbers of tasks after which a learner was measured, ascending."""
        own = [
            each["tasks_seen"].tolist() for key, each in self._cells.items() if key[0] == learner
        ]
        return tuple(sorted(set(chain(*own))))

    def R(self, learner: str) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """Return the accuracy matrix of a learner itself, (T+1, T), under the main head."""
        return self._matrix(learner, ("", ""))

    def matrix(self, learner: str, feature: str, readout: str) -> AccuracyMatrix:
        """Return a feature's own matrix, (T+1, T); NaN = not measured; row 0 is the floor.

        At the output it is R, multi-head for readouts of each task. Raises InputError for an
        unknown feature or readout.
        """
        return self._matrix(learner, self._key(learner, feature, readout))

    def ceiling(self, learner: str, feature: str, readout: str) -> NDArray[np.float64]:
        """Return the accuracies of the offline-trained network, (T,), by position; NaN if none."""
        key = self._key(learner, feature, readout)
        controls: NDArray[np.float64] = self._means(self._control(OFFLINE, learner, key))[0]
        return controls

    def _key(self, learner: str, feature: str, readout: str) -> tuple[str, str]:
        """Return the feature and readout under which rows hold the cells of a matrix."""
        asked = (("feature", feature, self.features), ("readout", readout, self.readouts))
        for kind, name, names in asked:
            if name not in names:
                raise unknown(f"{kind} of this analysis", name, names)
        # Readouts of each task have rows of the output too, which is multi-head for them.
        named = (learner, feature, readout) in self._cells
        return (feature, readout) if named or feature not in self.outputs(learner) else ("", "")

    def _matrix(self, learner: str, key: tuple[str, str]) -> AccuracyMatrix:
        if (learner, *key) not in self._made:
            cells = self._cells.get((learner, *key), self._none)
            if not (cells["tasks_seen"] == 0).any():
                cells = pd.concat([cells, self._control(UNTRAINED, learner, key)])
            self._made[learner, *key] = AccuracyMatrix(self._means(cells))
        return self._made[learner, *key]

    def _control(self, name: str, learner: str, key: tuple[str, str]) -> pd.DataFrame:
        """Return the cells of a control's last network in each order of a learner, at step 0.

        There are none for a learner whose network has other layers.
        """
        cells = self._cells.get((name, *key), self._none)
        here, there = (self._layers[self._layers["learner"] == each] for each in (learner, name))
        if len(here.merge(there, on=["feature", "depth"])) < len(here):
            return self._none
        last = cells[cells["tasks_seen"] == cells["tasks_seen"].max()].assign(tasks_seen=0)
        orders = self._orders["order"][self._orders["learner"] == learner]
        return last.drop(columns="order").merge(orders, how="cross")

    def _means(self, cells: pd.DataFrame) -> NDArray[np.float64]:
        """Return the mean accuracy at each step and position, (T+1, T)."""
        values = np.full((self.tasks + 1, self.tasks), np.nan)
        placed = cells.merge(self._placed, on=["order", "task"])
        pairs = defaultdict[tuple[int, int], list[tuple[int, float]]](list)
        columns = (
            placed[name].tolist() for name in ("tasks_seen", "task_position", "seed", "value")
        )
        for tasks_seen, task_position, seed, value in zip(*columns, strict=True):
            pairs[int(tasks_seen), int(task_position)].append((seed, value))
        for (tasks_seen, task_position), own in pairs.items():
            # Equal values have themselves for a mean, to the last bit.
            mean = None if len({value for _, value in own}) == 1 else mean_over_seeds(own)
            values[tasks_seen, task_position - 1] = mean.mean if mean else own[0][1]
        return values
