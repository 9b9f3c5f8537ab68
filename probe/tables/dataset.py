"""Rows as an xarray Dataset; xarray is imported only when one is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probe.errors import InputError
from probe.tables.matrices import Matrices
from probe.tables.rows import MeasurementRow

if TYPE_CHECKING:
    import xarray as xr

_RUN = ("learner", "order", "seed", "tasks_seen")
_DIMS = {
    "accuracy": (*_RUN, "feature", "readout", "task"),
    "pra": (*_RUN, "feature", "readout"),
    "f1": (*_RUN, "feature", "readout", "task"),
    "R": (*_RUN, "head", "task"),
}


def to_dataset(rows: Iterable[MeasurementRow]) -> xr.Dataset:
    """Return all measurements as arrays with named dimensions; NaN = not measured.

    - `accuracy` (learner, order, seed, tasks_seen, feature, readout, task): A[l, t, j] of every run;
    - `pra`: the same over all tasks, without the dimension task; `f1`: as accuracy;
    - `R` (learner, order, seed, tasks_seen, head, task): of the networks themselves;
    - coordinate `task_position` (order, task): the task's position in the executed order, from 1.

    At the output, for every readout, accuracy is R under the main head (the first in the rows), and
    pra and f1 are the network's own; for readouts of each task accuracy and pra are multi-head. The
    learners `offline` and `untrained` have the order "". Fractions in [0, 1]. Raises InputError
    without xarray, for repeated measurements, and for rows without the feature or task that their
    metric needs.
    """
    try:
        import xarray
    except ImportError:
        raise InputError("a Dataset needs xarray, which is absent: pip install xarray") from None
    matrices = Matrices(rows)
    table = matrices.table
    of_networks = (table["metric"] == "accuracy") & (table["feature"] == "")
    _check(table[table["metric"] != "pra"], "task")
    _check(table[~of_networks], "feature")
    networks, coords = table[of_networks], _coords(matrices)
    cells = {
        "accuracy": pd.concat([_at_output(networks, matrices), table[~of_networks]]),
        "pra": table,
        "f1": table,
    }
    arrays = {"R": _array("R", networks[networks["head"] != ""], coords)}
    for name, own in cells.items():
        arrays[name] = _array(name, own[own["metric"] == name], coords)
    own_places = (matrices.places.get(order, {}) for order in coords["order"])
    positions = [{task: at for at, task in own.items()} for own in own_places]
    places = [[own.get(task, np.nan) for task in coords["task"]] for own in positions]
    dataset: xr.Dataset = xarray.Dataset(
        {name: (dims, arrays[name]) for name, dims in _DIMS.items()},
        coords={**coords, "task_position": (("order", "task"), np.array(places, dtype=float))},
    )
    return dataset


def _coords(matrices: Matrices) -> dict[str, Sequence[Any]]:
    """Return the names along each dimension; tasks in the order of the controls, or the first."""
    table, places = matrices.table, matrices.places
    base = places.get("", next(iter(places.values()), {}))
    tasks = [*(base[at] for at in sorted(base)), *table["task"].unique()]
    return {
        "learner": table["learner"].unique().tolist(),
        "order": table["order"].unique().tolist(),
        "seed": list(matrices.seeds),
        "tasks_seen": sorted(table["tasks_seen"].unique().tolist()),
        "feature": list(matrices.features),
        "readout": list(matrices.readouts),
        "head": [head for head in table["head"].unique() if head],
        "task": list(dict.fromkeys(filter(None, tasks))),
    }


def _at_output(networks: pd.DataFrame, matrices: Matrices) -> pd.DataFrame:
    """Return the cells of R under the main head as those of the output."""
    named = [(name, each) for name in matrices.learners + matrices.levels
             for each in matrices.outputs(name)]  # fmt: skip
    outputs = pd.DataFrame(named, columns=["learner", "feature"], dtype="string[python]")
    main = networks[networks["head"] == matrices.head].drop(columns="feature")
    return main.merge(outputs, on="learner")


def _array(
    name: str, cells: pd.DataFrame, coords: Mapping[str, Sequence[Any]]
) -> NDArray[np.float64]:
    """Return the values of some rows in an array of the dimensions of that name."""
    dims = _DIMS[name]
    for twice in cells[cells.duplicated(list(dims))].to_dict("records"):
        raise InputError(
            f"two rows are the {name} of learner {twice['learner']!r}, order {twice['order']!r}, "
            f"seed {twice['seed']} after {twice['tasks_seen']} tasks: give the rows of one study, "
            f"each once"
        )
    if "readout" in dims:
        # At the output there is none, first: the value holds for all without a row of their own.
        cells = cells.sort_values("readout", kind="stable")
        each = [[own] if own else coords["readout"] for own in cells["readout"]]
        cells = cells.assign(readout=pd.Series(each, cells.index, dtype=object)).explode("readout")
    at = tuple(cells[dim].map({x: k for k, x in enumerate(coords[dim])}) for dim in dims)
    values = np.full([len(coords[dim]) for dim in dims], np.nan)
    values[tuple(positions.to_numpy(int) for positions in at)] = cells["value"]
    return values


def _check(table: pd.DataFrame, column: str) -> None:
    for metric in table["metric"][table[column] == ""]:
        raise InputError(f"a row of metric {metric!r} needs a {column}, and has none")
