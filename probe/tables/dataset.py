"""Measurements as an xarray Dataset; xarray is imported only when one is asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from probe.analysis.variance import Floats
from probe.errors import InputError
from probe.tables.matrices import Matrices
from probe.tables.summary import require

if TYPE_CHECKING:
    import xarray as xr

_RUN = ("learner", "order", "seed", "tasks_seen")
_DIMS = {
    "accuracy": (*_RUN, "feature", "readout", "task"),
    "pra": (*_RUN, "feature", "readout"),
    "f1": (*_RUN, "feature", "readout", "task"),
    "R": (*_RUN, "head", "task"),
}


def to_dataset(measurements: pd.DataFrame) -> "xr.Dataset":
    """Return all measurements as arrays with named dimensions; NaN = not measured.

    - `accuracy` (learner, order, seed, tasks_seen, feature, readout, task): A[l, t, j]
      of each run;
    - `pra`: the same over all tasks together, without the dimension `task`;
    - `f1`: the F1 of each task, with the dimensions of `accuracy`;
    - `R` (learner, order, seed, tasks_seen, head, task): the accuracies of the networks
      themselves;
    - `task_position` (order, task): a coordinate, the position of the task in the
      executed order, counted from 1.

    All values are fractions in [0, 1]. At the output they are the same for every
    readout: `accuracy` is R under the main head (the first in the rows), `pra` and `f1`
    are those of the network itself. Readouts of each task are the exception: their
    `accuracy` and `pra` at the output are multi-head. The learners `offline` and
    `untrained` have the order "".

    Raises:
        InputError: xarray is absent, a measurement is repeated, or a row lacks the
            feature or task that its metric needs.
    """
    try:
        import xarray
    except ImportError:
        raise InputError(
            "a Dataset needs xarray, which is absent: pip install xarray"
        ) from None
    matrices = Matrices(measurements)
    table = matrices.table
    positions = matrices.positions
    accuracies = table["metric"] == "accuracy"
    of_networks = table["feature"] == ""
    require(table[table["metric"] != "pra"], "task")
    require(table[~(accuracies & of_networks)], "feature")
    R = table[accuracies & of_networks]
    at_output = R[R["head"] == matrices.head].drop(columns="feature")
    cells = {
        "accuracy": pd.concat(
            [
                at_output.merge(matrices.outputs, on="learner"),
                table[accuracies & ~of_networks],
            ]
        ),
        **{metric: table[table["metric"] == metric] for metric in ("pra", "f1")},
        "R": R[R["head"] != ""],
    }
    # Tasks in the order of the controls, or the first.
    first = positions[
        positions["order"] == min(positions["order"], key=bool, default="")
    ]
    tasks = pd.concat([first.sort_values("task_position")["task"], table["task"]])
    coords: dict[str, Any] = {
        "learner": table["learner"].unique().tolist(),
        "order": table["order"].unique().tolist(),
        "seed": list(matrices.seeds),
        "tasks_seen": sorted(table["tasks_seen"].unique().tolist()),
        "feature": list(matrices.features),
        "readout": list(matrices.readouts),
        "head": [head for head in table["head"].unique() if head],
        "task": [task for task in tasks.unique() if task],
    }
    places = positions.pivot_table("task_position", "order", "task", aggfunc="last")
    places = places.reindex(index=coords["order"], columns=coords["task"])
    dataset: xr.Dataset = xarray.Dataset(
        {
            name: (dims, _array(name, cells[name], coords))
            for name, dims in _DIMS.items()
        },
        coords={**coords, "task_position": (("order", "task"), places.to_numpy(float))},
    )
    return dataset


def _array(
    name: str, cells: pd.DataFrame, coords: Mapping[str, Sequence[Any]]
) -> Floats:
    """Return the values of some rows as an array with the dimensions of the named variable."""
    dims = _DIMS[name]
    for row in cells[cells.duplicated(list(dims))].to_dict("records"):
        raise InputError(
            f"two rows are the {name} of learner {row['learner']!r}, order "
            f"{row['order']!r}, seed {row['seed']} after {row['tasks_seen']} tasks: "
            "give the rows of one study, each once"
        )
    if "readout" in dims:
        # At the output there is none, first: the value holds for all without a row of
        # their own.
        cells = cells.sort_values("readout", kind="stable")
        readouts = [
            [readout] if readout else coords["readout"] for readout in cells["readout"]
        ]
        cells = cells.assign(readout=pd.Series(readouts, cells.index, dtype=object))
        cells = cells.explode("readout")
    values = np.full([len(coords[dim]) for dim in dims], np.nan)
    values[tuple(pd.Categorical(cells[dim], coords[dim]).codes for dim in dims)] = (
        cells["value"]
    )
    return values
