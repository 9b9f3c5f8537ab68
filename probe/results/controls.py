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

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

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
from probe.analysis.variance import Design
from probe.arrays import Floats, Ints
from probe.by_layer.jobs import Job
from probe.results.predictions import JobsOfLearner, Predictions
from probe.tables.schemas import Row

_Terms = dict[Term, Floats]
_Values = Iterator[tuple[str, TaskPosition, _Terms]]


def control_rows(predictions: Predictions) -> Iterator[Row]:
    """Yield the controls of each learner by readout and feature, if there are any."""
    jobs_of: JobsOfLearner = {}
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
    """Yield the controls of one layer; jobs: all jobs of a learner."""
    row_of_job = {job: predictions.at_end(job, feature, readout) for job in jobs}
    # A seed counts once all of its networks are measured.
    unfinished = {job.seed for job, row in row_of_job.items() if row is None}
    rows = {
        (job.seed, job.order, job.without): row
        for job, row in row_of_job.items()
        if row is not None and job.seed not in unfinished
    }
    if not rows:
        return
    tasks = predictions.example_tasks
    tasks_of_order = {
        job.order: job.tasks for job in jobs if job.seed not in unfinished
    }
    orders = np.array(list(tasks_of_order.values()))
    right, permuted = _stack(predictions, rows)
    controls = [*_exclusion(right, tasks, orders), *_selectivity(right, permuted)]
    for name, position, terms in controls:
        # The difference between what the network reaches and what its control does.
        design = Design(position.weights, tasks[position.examples])
        difference = mean_of(design, np.asarray(combined(terms, CONTROLS[name])))
        accuracy, control = (mean_of(design, values).value for values in terms.values())
        estimate = within_range(name, difference)
        yield {
            "learner": jobs[0].learner,
            "readout": readout,
            "feature": feature,
            "depth": 1 + predictions.features(jobs[0]).index(feature),
            **columns_of(name, position.number, estimate),
            "accuracy": accuracy,
            "control": control,
        }


def _stack(
    predictions: Predictions, rows: Mapping[tuple[int, str, int], int]
) -> tuple[Right, Floats]:
    """Return correctness and the accuracy on permuted labels, see `_exclusion`, `_selectivity`.

    rows: by seed, order and task left out.
    """
    seeds, orders, left_out = (
        list(dict.fromkeys(values)) for values in zip(*rows, strict=True)
    )
    shape = len(seeds), len(orders)
    runs = product(seeds, orders, left_out)
    right = np.array([predictions.correct(rows[run]) for run in runs])
    permuted = [
        predictions.control.get(rows[seed, order, 0], np.nan)
        for seed, order in product(seeds, orders)
    ]
    by_run = right.reshape(*shape, len(left_out), -1)
    return by_run, np.array(permuted).reshape(*shape, 1)


def _exclusion(right: Right, tasks: Ints, orders: Ints) -> _Values:
    """Yield the terms of the exclusion difference, over all tasks and at each position.

    It is the accuracy on a task minus that of a network which never saw the task.

    right: (S, O, 1 + T, n), whether examples are right: at 0 by the run's network, at j
        by the one that never saw the task at position j; only at 0 if no others were
        trained;
    tasks: the task of each example, (n,);
    orders: the task at each position, (O, T).
    """
    positions = range(1, right.shape[2])
    if not positions:
        return
    # The position of an example's task, (O, n), names the network that never saw it.
    position_of_example = 1 + np.argsort(orders)[:, tasks]
    without = position_of_example[None, :, None]
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


def _selectivity(right: Right, permuted: Floats) -> _Values:
    """Yield the terms of selectivity; permuted: (S, O, 1), NaN where it was not measured."""
    if np.isnan(permuted).any():
        return
    position = over_all_tasks(right.shape[-1])
    of_run = right[:, :, 0]
    terms = {
        Term.END: position.mean(of_run),
        Term.PERMUTED: position.mean(np.broadcast_to(permuted, of_run.shape)),
    }
    yield "selectivity", position, terms
