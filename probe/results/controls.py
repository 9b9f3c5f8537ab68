"""Controls of the readouts downstream of a feature after all tasks: the rows of controls.csv.

- `exclusion`: the accuracy on a task minus the accuracy of a network that learned the
  same order without that task. This is what the representation gained from the task and
  still holds (the exclusion difference of Hess et al. 2024);
- `labels`: the accuracy on test data minus the accuracy of the same readout fitted to,
  and tested on, permuted training labels. This is its selectivity (Hewitt & Liang,
  EMNLP 2019). Their control gives each type of word one label; our examples have no
  types, so each has its own label, and the control measures how much the readout can
  memorize, whatever the feature means.

A seed counts once all of its orders are finished, with their controls.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from probe.analysis.intervals import mean_of
from probe.analysis.quantities import (
    CONTROLS,
    Right,
    Term,
    columns_of,
    combined,
    within_range,
)
from probe.analysis.task_positions import TaskPosition, at_position, over_all_tasks
from probe.analysis.variance import Design, Floats
from probe.by_layer.jobs import Job
from probe.results.predictions import Predictions
from probe.tables.schemas import Row

Indices = NDArray[np.integer]
_Terms = dict[Term, Floats]
_Values = Iterator[tuple[str, TaskPosition, _Terms]]


def control_rows(predictions: Predictions) -> Iterator[Row]:
    """Yield the controls of each learner by readout and feature, if there are any."""
    jobs_of: dict[str, list[Job]] = {}
    for job in predictions.jobs:
        jobs_of.setdefault(job.learner, []).append(job)
    for jobs in jobs_of.values():
        features = predictions.features(jobs[0])
        for readout, feature in product(predictions.readouts_of(jobs), features):
            yield from _of_layer(
                predictions,
                jobs,
                readout,
                feature,
            )


def _of_layer(
    predictions: Predictions, jobs: Sequence[Job], readout: str, feature: str
) -> Iterator[Row]:
    """Yield the controls of one layer; jobs: those of a learner, a run's own first."""
    row_of_job = {job: predictions.at_end(job, feature, readout) for job in jobs}
    unfinished = {job.seed for job, row in row_of_job.items() if row is None}
    rows = {
        (job.seed, job.order, job.without): row
        for job, row in row_of_job.items()
        if row is not None and job.seed not in unfinished
    }
    if not rows:
        return
    seeds, orders, left_out = (
        list(dict.fromkeys(values)) for values in zip(*rows, strict=True)
    )
    right = np.array(
        [predictions.correct(rows[run]) for run in product(seeds, orders, left_out)]
    ).reshape(
        len(seeds),
        len(orders),
        len(left_out),
        -1,
    )
    permuted = [
        predictions.control.get(rows[seed, order, 0], np.nan)
        for seed, order in product(seeds, orders)
    ]
    memorized = np.array(permuted).reshape(len(seeds), len(orders), 1)
    tasks = predictions.example_tasks
    tasks_of_order = {job.order: job.tasks for job in jobs}
    in_order = np.array([tasks_of_order[order] for order in orders])
    controls = [*_exclusion(right, tasks, in_order), *_selectivity(right, memorized)]
    for name, position, terms in controls:
        design = Design(position.weights, tasks[position.examples])
        difference = combined(terms, CONTROLS[name])
        estimate = within_range(name, mean_of(design, np.asarray(difference)))
        accuracy, control = (mean_of(design, values).value for values in terms.values())
        yield {
            "learner": jobs[0].learner,
            "readout": readout,
            "feature": feature,
            "depth": 1 + predictions.features(jobs[0]).index(feature),
            **columns_of(name, position.position, estimate),
            "accuracy": accuracy,
            "control": control,
        }


def _exclusion(right: Right, tasks: Indices, orders: Indices) -> _Values:
    """Yield the terms of the exclusion difference, over all tasks and at each position.

    right: (S, O, 1 + T, n), of the run and, if they were trained, the networks without
        each task;
    tasks: (n,);
    orders: (O, T).
    """
    positions = range(1, right.shape[2])
    if not positions:
        return
    # Each example by the network that never saw its task.
    without = 1 + np.argsort(orders)[None, :, None, tasks]
    never_saw = np.take_along_axis(right, without, axis=2)[:, :, 0]
    for position in (
        over_all_tasks(len(tasks)),
        *(at_position(tasks, orders, j) for j in positions),
    ):
        terms = {
            Term.END: position.mean(right[:, :, 0]),
            Term.NEVER_SAW: position.mean(never_saw),
        }
        yield "exclusion_difference", position, terms


def _selectivity(right: Right, memorized: Floats) -> _Values:
    """Yield the terms of selectivity; memorized: (S, O, 1), NaN where it was not measured."""
    if np.isnan(memorized).any():
        return
    position = over_all_tasks(right.shape[-1])
    permuted = np.broadcast_to(memorized, right[:, :, 0].shape)
    terms = {
        Term.END: position.mean(right[:, :, 0]),
        Term.PERMUTED: position.mean(permuted),
    }
    yield "selectivity", position, terms
