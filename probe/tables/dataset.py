"""Rows as an xarray Dataset; xarray is imported only here, and only when it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError
from probe.tables.matrices import Matrices
from probe.tables.rows import Row

if TYPE_CHECKING:
    import xarray as xr

_RUN = ("learner", "order", "seed", "step")
_DIMS = {
    "accuracy": (*_RUN, "feature", "readout", "task"),
    "pra": (*_RUN, "feature", "readout"),
    "f1": (*_RUN, "feature", "readout", "task"),
    "R": (*_RUN, "head", "task"),
}


def to_dataset(rows: Iterable[Row]) -> xr.Dataset:
    """Return all measurements as arrays with named dimensions; NaN = not measured.

    - `accuracy` (learner, order, seed, step, feature, readout, task): A[l, t, j] of every run;
    - `pra`: the same over all tasks, without the dimension task; `f1`: as accuracy;
    - `R` (learner, order, seed, step, head, task): of the networks themselves;
    - coordinate `place` (order, task): of the task in the executed order, from 1.

    At the feature that is the output, whatever the readout, accuracy is R under the main head (the
    first in the rows), and pra and f1 are the network's own. The learners `offline` and `untrained`
    have the order "". Fractions in [0, 1]. Raises InputError without xarray, for rows of which two
    are the same measurement, and for rows without a feature or place that their measure needs.
    """
    xarray = _xarray()
    table = list(rows)
    matrices = Matrices(table)
    cells = _Cells(table, matrices)
    for row in table:
        cells.add(row)
    tasks = tuple(cells.at["task"])
    places = [[cells.place(order, task) for task in tasks] for order in cells.at["order"]]
    found: xr.Dataset = xarray.Dataset(
        {name: (dims, cells.arrays[name]) for name, dims in _DIMS.items()},
        coords={
            **{name: list(names) for name, names in cells.at.items()},
            "place": (("order", "task"), np.array(places, dtype=float)),
        },
    )
    return found


class _Cells:
    """The arrays while they are filled; at: where each name of a dimension is."""

    def __init__(self, rows: Sequence[Row], matrices: Matrices) -> None:
        self._matrices = matrices
        named: dict[str, Iterable[Any]] = {
            "learner": (row.learner for row in rows),
            "order": (row.order for row in rows),
            "seed": matrices.seeds,
            "step": sorted({self._step(row) for row in rows}),
            "feature": matrices.features,
            "readout": matrices.readouts,
            "head": (row.head for row in rows if row.head),
            "task": sorted({row.task for row in rows if row.task}, key=self._base),
        }
        self.at: dict[str, dict[Any, int]] = {
            name: {each: at for at, each in enumerate(dict.fromkeys(own))}
            for name, own in named.items()
        }
        self.arrays: dict[str, NDArray[np.float64]] = {
            name: np.full([len(self.at[dim]) for dim in dims], np.nan)
            for name, dims in _DIMS.items()
        }
        self._seen: set[tuple[Any, ...]] = set()

    def add(self, row: Row) -> None:
        """Write one measurement where it belongs."""
        at = {name: self.at[name][getattr(row, name)] for name in ("learner", "order", "seed")}
        at["step"] = self.at["step"][self._step(row)]
        if row.measure != "pra":
            at["task"] = self.at["task"][self._needed(row, "task")]
        if row.measure == "accuracy" and not row.feature:
            self._add_to_R(row, at)
            return
        at["feature"] = self.at["feature"][self._needed(row, "feature")]
        self._write(row.measure, at | {"readout": self._readout(row)}, row)

    def place(self, order: str, task: str) -> float:
        """Return where in an order a task is, NaN for one that is not in it."""
        places = self._matrices.places.get(order, {})
        return next((float(at) for at, name in places.items() if name == task), float("nan"))

    def _add_to_R(self, row: Row, at: dict[str, Any]) -> None:  # noqa: N802
        if row.head:
            self._write("R", at | {"head": self.at["head"][row.head]}, row)
        if row.head == self._matrices.head:
            for output in self._matrices.outputs(row.learner):
                where = {"feature": self.at["feature"][output], "readout": slice(None)}
                self._write("accuracy", at | where, row)

    def _write(self, name: str, at: dict[str, Any], row: Row) -> None:
        where = tuple(at[dim] for dim in _DIMS[name])
        # A slice cannot be hashed in all versions of Python; its text can.
        key = (name, *map(str, where))
        if key in self._seen:
            raise InputError(
                f"two rows are the {name} of learner {row.learner!r}, order {row.order!r}, seed "
                f"{row.seed}, step {row.step}: give the rows of one study, each once"
            )
        self._seen.add(key)
        self.arrays[name][where] = row.value

    def _readout(self, row: Row) -> Any:
        """Return where a readout is: at the output, where there is none, that is everywhere."""
        return self.at["readout"][row.readout] if row.readout else slice(None)

    def _step(self, row: Row) -> int:
        return self._matrices.tasks if row.step is None else row.step

    def _base(self, task: str) -> float:
        """Return where a task is without an order, or in the first."""
        order = "" if "" in self._matrices.places else next(iter(self._matrices.places))
        return self.place(order, task)

    @staticmethod
    def _needed(row: Row, column: str) -> str:
        if not (value := getattr(row, column)):
            raise InputError(f"a row of measure {row.measure!r} needs a {column}, and has none")
        return str(value)


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise InputError("a Dataset needs xarray, which is absent: pip install xarray") from None
    return xarray
