"""The evaluations of an analysis as JSON and arrays, and back: exactly, and nothing pickled.

Evaluations that stand in several places, such as the output's for every seed, are stored once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.by_layer.asked import OFFLINE, Step
from probe.by_layer.measured import At, Evaluation, Measured
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes

KIND = "analysis"
"""What its folder says it is."""


def record_of(measured: Measured) -> dict[str, Any]:
    """Return all but the arrays, as values that JSON has; `measured_of` is the inverse."""
    numbers = _numbers(measured)
    return {
        "tasks": measured.tasks,
        "features": measured.features,
        "outputs": measured.outputs,
        "readouts": measured.readouts,
        "seeds": measured.seeds,
        "own": [[step, numbers[id(one)]] for step, one in measured.own.items()],
        "evaluations": [[*at, numbers[id(one)]] for at, one in measured.evaluations.items()],
        "notes_of_each": [one.notes for one in _unique(measured)],
        "dead_units": [[*at, share] for at, share in measured.dead_units.items()],
        "notes": measured.notes,
        "of_data": measured.of_data,
        "scenario": measured.scenario,
        "network": measured.network,
    }


def arrays_of(measured: Measured) -> dict[str, NDArray[Any]]:
    """Return labels (N,), and of n evaluations counts (n, K, K) and bits (n, ceil(N / 8))."""
    each = _unique(measured)
    return {
        "labels": measured.labels,
        "counts": np.stack([one.counts.table for one in each]),
        "right": np.stack([np.frombuffer(one.right.bits, np.uint8) for one in each]),
    }


def measured_of(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Measured:
    """Return what was measured, of its record and arrays.

    Raises KeyError, ValueError, TypeError or IndexError for what `record_of` and `arrays_of` cannot
    have given.
    """
    labels = arrays["labels"].astype(np.int64, casting="safe")
    notes = [tuple(own) for own in record["notes_of_each"]]
    each = [
        Evaluation(counts=counts, right=Outcomes(len(labels), bits.tobytes()), notes=own)
        for counts, bits, own in zip(
            Counts.each(arrays["counts"]), arrays["right"], notes, strict=True
        )
    ]
    return Measured(
        tasks=tuple(tuple(task) for task in record["tasks"]),
        labels=labels,
        features=tuple(record["features"]),
        outputs=tuple(record["outputs"]),
        readouts=tuple(record["readouts"]),
        seeds=int(record["seeds"]),
        own={_step(step): each[number] for step, number in record["own"]},
        evaluations={
            At(_step(step), feature, readout, seed): each[number]
            for step, feature, readout, seed, number in record["evaluations"]
        },
        dead_units={(_step(step), name): share for step, name, share in record["dead_units"]},
        notes=tuple(record["notes"]),
        of_data=tuple(record["of_data"]),
        scenario=str(record["scenario"]),
        network=str(record["network"]),
    )


def _unique(measured: Measured) -> list[Evaluation]:
    """Return the evaluations, each once."""
    every = (*measured.own.values(), *measured.evaluations.values())
    return list({id(one): one for one in every}.values())


def _numbers(measured: Measured) -> dict[int, int]:
    return {id(one): number for number, one in enumerate(_unique(measured))}


def _step(step: object) -> Step:
    if type(step) is int:
        return step
    if step != OFFLINE:
        raise ValueError(f"{step!r} is no step")
    return OFFLINE
