"""A[l, t, j] from measurements: the accuracy matrix of a feature, a mean over orders and seeds.

The matrix of the output is R. Its rows name no feature, so the output is found as the
feature whose PRA has no readout.
"""

import numpy as np
import pandas as pd

from probe.arrays import Floats
from probe.errors import InputError, check_known
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import RETRAIN
from probe.tables.schemas import CONTROLS, OFFLINE, UNTRAINED
from probe.tables.summary import check_one_study, mean_over_runs, scores_by
from probe.tables.table_file import where

_LAYER = ["learner", "feature", "depth"]


def accuracy_matrix(cells: pd.DataFrame, tasks: int) -> AccuracyMatrix:
    """Average the accuracies of runs, over the orders of each seed, then over seeds.

    Args:
        cells: One accuracy per row, with the columns tasks_seen, task_position, seed
            and value.
        tasks: The number of tasks T.

    Returns:
        The matrix, (T+1, T); NaN = not measured.
    """
    values = np.full((tasks + 1, tasks), np.nan)
    scores_of = scores_by(cells, ["tasks_seen", "task_position"])
    for (tasks_seen, position), scores in scores_of.items():
        # Equal values have themselves for a mean, to the last bit.
        equal = len({value for _, value in scores}) == 1
        values[tasks_seen, position - 1] = (
            scores[0][1] if equal else mean_over_runs(scores)
        )
    return AccuracyMatrix(values)


def mean_matrices(measurements: pd.DataFrame) -> dict[str, AccuracyMatrix]:
    """Return R of each learner, (T+1, T), its mean over orders and seeds, in order of appearance.

    Args:
        measurements: The measurements of one study; learners without R are left out.

    Returns:
        The matrix R of each learner, by name.

    Raises:
        InputError: The rows come from more than one scenario or network, or name too
            few tasks.
    """
    check_one_study(measurements)
    table = where(measurements, metric="accuracy", feature="")
    by_learner = table.groupby("learner", sort=False)
    return {
        learner: accuracy_matrix(cells, _tasks(cells)) for learner, cells in by_learner
    }


class Matrices:
    """Accuracy matrices of one study or analysis, by learner, feature and readout.

    Attributes:
        table: The measurements.
        head: The main head, under which R is taken: the first in the table.
        tasks: The number of tasks T.
        positions: The task at each position of each order.
        orders: The names of the orders, in order of first appearance.
        learners: The learners that learn task by task, in order of first appearance.
        levels: The controls.
        seeds: The seeds, ascending.
        features: The names of the features, by depth.
        readouts: The readouts in order of first appearance, `retrain` if only outputs
            were measured.
        outputs: The features of each learner that are its network's own output.

    Raises InputError for a position or number of tasks that an order does not have.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table
        learners = table["learner"].unique().tolist()
        self.learners = tuple(name for name in learners if name not in CONTROLS)
        self.levels = tuple(name for name in CONTROLS if name in learners)
        self.seeds = tuple(sorted(table["seed"].unique().tolist()))
        self.readouts = tuple(filter(None, table["readout"].unique())) or (RETRAIN,)
        self.head: str = next(filter(None, table["head"]), "")
        self.tasks = _tasks(table)
        named = table.dropna(subset="task_position")[["order", "task", "task_position"]]
        self.positions = named.drop_duplicates(["order", "task_position"], keep="last")
        self.orders = tuple(filter(None, self.positions["order"].unique()))
        self._layers = table.loc[table["feature"] != "", _LAYER].drop_duplicates(
            _LAYER[:2]
        )
        by_depth = self._layers.drop_duplicates("feature").sort_values(
            "depth", kind="stable"
        )
        self.features = tuple(by_depth["feature"])
        at_output = (table["metric"] == "pra") & (table["readout"] == "")
        self.outputs = table.loc[at_output, ["learner", "feature"]].drop_duplicates()
        cells = where(table, metric="accuracy", head=["", self.head])
        self._cells = dict(list(cells.groupby(["learner", "feature", "readout"])))
        self._none = cells[:0]

    def steps(self, learner: str) -> tuple[int, ...]:
        """Return the numbers of tasks after which a learner was measured, ascending."""
        measured = where(self.table, learner=learner, metric="accuracy")
        return tuple(sorted(measured["tasks_seen"].unique().tolist()))

    def R(self, learner: str) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """Return the accuracy matrix of a learner itself, (T+1, T), under the main head."""
        return self._matrix(learner, "", "")

    def matrix(self, learner: str, feature: str, readout: str) -> AccuracyMatrix:
        """Return a feature's accuracy matrix, (T+1, T); NaN = not measured; row 0 is the floor.

        At the output it is R, multi-head for task-aware readouts.

        Args:
            learner: Name of the learner.
            feature: Name of the feature.
            readout: Name of the readout.

        Returns:
            The matrix.

        Raises:
            InputError: The feature or readout is unknown.
        """
        return self._matrix(learner, *self._key(learner, feature, readout))

    def ceiling(self, learner: str, feature: str, readout: str) -> Floats:
        """Return the accuracies of the offline-trained network.

        Args:
            learner: Name of the learner.
            feature: Name of the feature.
            readout: Name of the readout.

        Returns:
            The accuracies (T,) by task position; NaN if there are none.
        """
        cells = self._control(OFFLINE, learner, *self._key(learner, feature, readout))
        return np.asarray(accuracy_matrix(cells, self.tasks).values[0])

    def _key(self, learner: str, feature: str, readout: str) -> tuple[str, str]:
        """Return the feature and readout under which rows hold the cells of a matrix."""
        for kind, name in (("feature", feature), ("readout", readout)):
            check_known(kind, name, getattr(self, f"{kind}s"), "in this analysis")
        # Readouts of each task have rows of the output too, which is multi-head for
        # them.
        at_output = (self.outputs == [learner, feature]).all(axis=1).any()
        if at_output and (learner, feature, readout) not in self._cells:
            return "", ""
        return feature, readout

    def _matrix(self, learner: str, feature: str, readout: str) -> AccuracyMatrix:
        cells = self._cells.get((learner, feature, readout), self._none)
        if not (cells["tasks_seen"] == 0).any():
            cells = pd.concat(
                [cells, self._control(UNTRAINED, learner, feature, readout)]
            )
        return accuracy_matrix(cells, self.tasks)

    def _control(
        self, control: str, learner: str, feature: str, readout: str
    ) -> pd.DataFrame:
        """Return the cells of a control's last network in each order of a learner, in row 0.

        There are no such cells for a learner whose network has other layers.
        """
        cells = self._cells.get((control, feature, readout), self._none)
        layers, of_control = (
            self._layers.loc[self._layers["learner"] == name, _LAYER[1:]]
            for name in (learner, control)
        )
        if len(layers.merge(of_control)) < len(layers):
            return self._none
        last = cells[cells["tasks_seen"] == cells["tasks_seen"].max()].assign(
            tasks_seen=0
        )
        orders = where(self.table, learner=learner)["order"].unique()
        positions = where(self.positions, order=orders)
        return last.drop(columns=["order", "task_position"]).merge(positions, on="task")


def _tasks(table: pd.DataFrame) -> int:
    """Return T; raises InputError if an order has fewer tasks, as T could then be any size."""
    tasks = int(max([0, *table[["tasks_seen", "task_position"]].max().dropna()]))
    positions = table.dropna(subset="task_position").groupby("order", sort=False)[
        "task_position"
    ]
    for order, count in positions.nunique().items():
        if count < tasks:
            raise InputError(
                f"the rows name {tasks} tasks, of which order {order!r} has {count}: "
                "give all rows of its tasks"
            )
    return tasks
