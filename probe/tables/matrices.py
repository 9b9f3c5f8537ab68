"""A[l, t, j] from rows: the accuracy matrix of every feature, as a mean over orders and seeds.

R itself is the matrix of the feature that is the output: rows of R name no feature, and the output
is the feature whose PRA has no readout.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probe.errors import InputError, unknown
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.mean_over_seeds import mean_over_seeds
from probe.metrics.murata import RETRAIN
from probe.tables.frames import to_frame
from probe.tables.rows import OFFLINE as OFFLINE
from probe.tables.rows import UNTRAINED as UNTRAINED
from probe.tables.rows import Row

_RUN = ["learner", "feature", "readout", "step", "order", "seed"]
_CELL = ["step", "place"]


class Matrices:
    """Accuracy matrices of one study or analysis, by learner, feature and readout.

    head: the main one, which R is of: the first in the rows; places: by order, the task at each of
    its T positions; table: the rows as a DataFrame, each with a step. Raises InputError for a
    position or step that the number of tasks rules out.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        table = to_frame(rows)
        self.head: str = next(iter(table["head"][table["head"] != ""]), "")
        placed = table.dropna(subset="place").drop_duplicates(["order", "place"], keep="last")
        self._placed = placed[["order", "task", "place"]]
        self.places: dict[str, dict[int, str]] = {
            order: dict(zip(own["place"].tolist(), own["task"].tolist(), strict=True))
            for order, own in placed.groupby("order", sort=False)
        }
        self.tasks = max((max(own) for own in self.places.values()), default=0)
        # Tables of earlier versions have the last step alone, and do not name it.
        self.table = table.assign(step=table["step"].fillna(self.tasks))
        cells = self.table[table["measure"].eq("accuracy") & table["head"].isin(["", self.head])]
        self._check(cells)
        cells = cells.drop_duplicates([*_RUN, "task"], keep="last").drop(columns="place")
        self._cells = dict(list(cells.groupby(["learner", "feature", "readout"])))
        self._none = cells[:0]
        self._orders = cells[["learner", "order"]].drop_duplicates()
        plain = table[(table["measure"] == "pra") & (table["readout"] == "")]
        self._outputs = plain.drop_duplicates(["learner", "feature"])
        named = table[table["feature"] != ""].drop_duplicates(["learner", "feature"])
        self._depths = named.assign(depth=named["depth"].fillna(0))
        self._names = table["learner"].unique().tolist()

    def _check(self, cells: pd.DataFrame) -> None:
        # A damaged position could ask for a matrix of any size.
        for order, own in self.places.items():
            if len(own) < self.tasks:
                raise InputError(
                    f"the rows name {self.tasks} tasks, of which order {order!r} has {len(own)}: "
                    f"give all rows of its tasks"
                )
        for step in cells["step"][cells["step"] > self.tasks]:
            raise InputError(f"a row is of step {step}, and there are {self.tasks} tasks")

    @property
    def learners(self) -> tuple[str, ...]:
        """The continual learners, in order of first appearance."""
        return tuple(name for name in self._names if name not in (OFFLINE, UNTRAINED))

    @property
    def levels(self) -> tuple[str, ...]:
        """The controls that were measured."""
        return tuple(name for name in (UNTRAINED, OFFLINE) if name in self._names)

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders of tasks, in order of first appearance."""
        return tuple(order for order in self.places if order)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, ascending."""
        return tuple(sorted(self.table["seed"].unique().tolist()))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """All features, by depth."""
        each = self._depths.drop_duplicates("feature").sort_values("depth", kind="stable")
        return tuple(each["feature"])

    @cached_property
    def readouts(self) -> tuple[str, ...]:
        """The readouts, in order of first appearance; `retrain` if only outputs were measured."""
        return tuple(filter(None, self.table["readout"].unique())) or (RETRAIN,)

    def outputs(self, learner: str) -> tuple[str, ...]:
        """Return the features of a learner that are its network's own output."""
        return tuple(self._outputs["feature"][self._outputs["learner"] == learner])

    def steps(self, learner: str) -> tuple[int, ...]:
        """Return the numbers of tasks after which a learner was measured, ascending."""
        own = [each["step"].tolist() for key, each in self._cells.items() if key[0] == learner]
        return tuple(sorted(set(chain(*own))))

    def R(self, learner: str) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """Return the accuracy matrix of a learner itself, (T+1, T), under the main head."""
        return self._matrix(learner, ("", ""))

    def matrix(self, learner: str, feature: str, readout: str) -> AccuracyMatrix:
        """Return a feature's own matrix, (T+1, T); NaN = not measured; row 0 is the floor.

        At the output it is R, whatever the readout. Raises InputError for an unknown feature or
        readout.
        """
        return self._matrix(learner, self._key(learner, feature, readout))

    def ceiling(self, learner: str, feature: str, readout: str) -> NDArray[np.float64]:
        """Return the accuracies of the offline-trained network, (T,), by position; NaN if none."""
        cells = self._control(OFFLINE, learner, self._key(learner, feature, readout))
        return self._means(cells)[0]

    def _key(self, learner: str, feature: str, readout: str) -> tuple[str, str]:
        """Return the feature and readout under which rows hold the cells of a matrix."""
        asked = (("feature", feature, self.features), ("readout", readout, self.readouts))
        for kind, name, names in asked:
            if name not in names:
                raise unknown(f"{kind} of this analysis", name, names)
        return ("", "") if feature in self.outputs(learner) else (feature, readout)

    def _matrix(self, learner: str, key: tuple[str, str]) -> AccuracyMatrix:
        cells = self._cells.get((learner, *key), self._none)
        if not (cells["step"] == 0).any():
            cells = pd.concat([cells, self._control(UNTRAINED, learner, key)])
        return AccuracyMatrix(self._means(cells))

    def _control(self, name: str, learner: str, key: tuple[str, str]) -> pd.DataFrame:
        """Return the cells of a control's last network in each order of a learner, at step 0.

        There are none for a learner whose network has other layers.
        """
        cells = self._cells.get((name, *key), self._none)
        last = cells[cells["step"] == cells["step"].max()].assign(step=0)
        if not self._layers(learner) <= self._layers(name):
            return self._none
        orders = self._orders["order"][self._orders["learner"] == learner]
        return last.drop(columns="order").merge(orders, how="cross")

    def _layers(self, learner: str) -> set[tuple[str, int]]:
        own = self._depths[self._depths["learner"] == learner]
        return set(zip(own["feature"], own["depth"], strict=True))

    def _means(self, cells: pd.DataFrame) -> NDArray[np.float64]:
        """Return the mean accuracy at each step and position, (T+1, T)."""
        values = np.full((self.tasks + 1, self.tasks), np.nan)
        for (step, place), own in cells.merge(self._placed, on=["order", "task"]).groupby(_CELL):
            pairs = list(zip(own["seed"].tolist(), own["value"].tolist(), strict=True))
            # Equal values have themselves for a mean, to the last bit.
            mean = None if own["value"].nunique(dropna=False) == 1 else mean_over_seeds(pairs)
            values[step, place - 1] = mean.mean if mean else pairs[0][1]
        return values
