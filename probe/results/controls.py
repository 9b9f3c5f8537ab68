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

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from probe.analysis.intervals import mean_of
from probe.analysis.layers import Right, TestLayout, quantity
from probe.analysis.task_positions import TaskPosition, at_position, over_all_tasks
from probe.analysis.variance import Design, Floats
from probe.results.layers import correct, jobs_by_learner, layout_of
from probe.results.result import Results
from probe.tables.schemas import Row

_Control = tuple[str, Right | Floats, TaskPosition]


def control_rows(results: Results) -> Iterator[Row]:
    """Yield the controls of each learner by readout and feature, if there are any."""
    for runs in jobs_by_learner(results).values():
        readouts = dict.fromkeys(name for run in runs for name in run.readouts)
        for readout, feature in product(readouts, runs[0].features):
            yield from _of_layer(runs, readout, feature)


def _of_layer(results: Results, readout: str, feature: str) -> Iterator[Row]:
    """Yield the controls of one layer; results: those of a learner's jobs, a run's own first."""
    run = results[0]
    ends = {r.job: r.at_end(feature, readout) for r in results}
    unfinished = {job.seed for job, scores in ends.items() if scores is None}
    scores_of = {
        (job.seed, job.order, job.without): scores
        for job, scores in ends.items()
        if scores and job.seed not in unfinished
    }
    if run.test is None or not scores_of:
        return
    seeds, orders, left_out = (
        list(dict.fromkeys(x)) for x in zip(*scores_of, strict=True)
    )
    tasks = {r.job.order: r.job.tasks for r in results}
    layout = layout_of(run.test, [tasks[order] for order in orders])
    rows = [
        correct(run.test, scores_of[job]) for job in product(seeds, orders, left_out)
    ]
    right = np.reshape(rows, (len(seeds), len(orders), len(left_out), -1))
    memorized = np.array(
        [[[scores_of[s, o, 0].control] for o in orders] for s in seeds], float
    )
    for name, control, place in _controls(right, memorized, layout):
        value = place.mean(right[:, :, 0])
        other = place.mean(control)
        mean = partial(mean_of, Design(place.weights, layout.tasks[place.examples]))
        yield {
            "learner": run.job.learner,
            "readout": readout,
            "feature": feature,
            "depth": 1 + run.features.index(feature),
            **quantity(name, place, mean(value - other)).columns,
            "accuracy": mean(value).value,
            "control": mean(other).value,
        }


def _controls(
    right: Right, memorized: Floats, layout: TestLayout
) -> Iterator[_Control]:
    """Yield each control by seed, order and test example, (S, O, n), with its test examples.

    right: (S, O, 1 + T, n), of the run and, if they were trained, the networks without
        each task;
    memorized: (S, O, 1), NaN where no readout was fitted to permuted labels.
    """
    all_tasks = over_all_tasks(right.shape[-1])
    positions = range(1, right.shape[2])
    if positions:
        # Each example by the network that never saw its task.
        never = 1 + np.argsort(layout.orders)[None, :, None, layout.tasks]
        control = np.take_along_axis(right, never, axis=2)[:, :, 0]
        places = (
            at_position(layout.tasks, layout.orders, position) for position in positions
        )
        for place in (all_tasks, *places):
            yield "exclusion_difference", control, place
    if not np.isnan(memorized).any():
        yield "selectivity", np.broadcast_to(memorized, right[:, :, 0].shape), all_tasks
