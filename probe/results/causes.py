"""The causes of forgetting: what the change of each block cost, by task position, with intervals.

Over the test examples of each earlier task: forgotten = competition + lost, where competition =
R[j, j] minus the score of the last network with all blocks put back, among the classes that compete
after all tasks; what is attributed to the blocks adds up to lost. See `probe.rewinding.hybrids`. A
seed counts once all of its orders are finished.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import cast

import numpy as np

from probe.analysis.intervals import mean_of
from probe.analysis.layers import TestLayout
from probe.analysis.task_positions import TaskPosition, at_position, average_over
from probe.analysis.variance import Design, Floats
from probe.by_layer.measurement import Measurement, blocks_put_back
from probe.by_layer.plan import CONTROLS
from probe.results.layers import jobs_by_learner, layout_of
from probe.results.result import JobResult, Results, main_head
from probe.rewinding.hybrids import Rewinding
from probe.tables.schemas import Row
from probe.tasks import TestExamples

Name = tuple[str, str]
"""A feature, empty for the whole network, and a quantity."""

_Mean = tuple[TaskPosition, Floats, float]  # test examples, their values, the sampling error


def cause_rows(results: Results, hybrids: int) -> Iterator[Row]:
    """Yield the rows of `causes`.

    Args:
        results: The results of a plan's jobs.
        hybrids: The most sets of blocks that were put back.

    Yields:
        The rows, by learner and score.
    """
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for learner, jobs in jobs_by_learner(learned).items():
        orders = dict.fromkeys(result.job.order for result in jobs)
        by_run = {(result.job.seed, result.job.order): result for result in jobs if result.rewound}
        seeds = [
            seed
            for seed in dict.fromkeys(result.job.seed for result in jobs)
            if by_run.keys() >= set(product([seed], orders))
        ]
        runs = [by_run[run] for run in product(seeds, orders)]
        for score in ("accuracy", "loss") if runs else ():
            for row in _of_learner(runs, len(seeds), score, hybrids):
                yield {"learner": learner, "score": score, **row}


def _of_learner(runs: Results, seeds: int, score: str, hybrids: int) -> Iterator[Row]:
    """Yield the rows of each task position, then the means over these positions."""
    orders = [run.job.tasks for run in runs[: len(runs) // seeds]]
    layout, features = layout_of(cast(TestExamples, runs[0].test), orders), runs[0].features
    positions = sorted(set.intersection(*(set(run.rewound) for run in runs)))
    means: dict[Name, list[_Mean]] = {}
    for j in positions:
        at_j = at_position(layout.tasks, layout.orders, j)
        values, errors = zip(*(_values(run, j, score, hybrids) for run in runs), strict=True)
        # A run may lack what it forgot, where only its rewound networks are intact.
        for name in filter(lambda name: all(name in v for v in values), values[0]):
            stacked = np.array([by_name[name] for by_name in values])
            if not np.isfinite(stacked).all():
                continue
            place = _equal_tasks(layout) if name[1] == "net" else at_j
            mean = place.mean(stacked.reshape(seeds, len(orders), -1))
            # The runs of a seed share the orders of the blocks, whose errors need not average out.
            error = fmean(by_block.get(name[0], 0.0) for by_block in errors)
            means.setdefault(name, []).append((place, mean, error))
            yield _row(features, name, layout, (place, mean, error), j)
    for name, by_position in means.items():
        if len(by_position) == len(positions):
            places, of_places, of_errors = zip(*by_position, strict=True)
            over_all = average_over(places, of_places)
            yield _row(features, name, layout, (*over_all, fmean(of_errors)))


def _values(
    run: JobResult, position: int, score: str, hybrids: int
) -> tuple[dict[Name, Floats], Mapping[str, float]]:
    """Return the quantities of each test example, and the sampling error of each block."""
    measurement, task = run.rewound[position], run.job.tasks[position - 1]
    test = measurement.test
    by_class = np.lexsort((test.labels, test.tasks))
    scores = {
        tuple(blocks_put_back(name)): _scores(measurement, name, score)
        for name in measurement.predicted
    }
    result = Rewinding(scores=scores, of_task=test.tasks == task, limit=hybrids, seed=run.job.seed)
    values = result.quantities(run.features)
    if learned := run.tested.get(position):
        at_first = _scores(learned, main_head(run.job), score)
        competition = np.where(result.of_task, at_first - scores[result.blocks], 0)
        values["", "competition"] = competition
        values["", "forgotten"] = competition + values["", "lost"]
    return {name: x[by_class] for name, x in values.items()}, result.sampling_error


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return np.asarray(measurement.predicted[head] == measurement.test.labels, dtype=np.float64)


def _equal_tasks(layout: TestLayout) -> TaskPosition:
    """Return all test examples, of which all tasks weigh the same."""
    sizes = np.bincount(layout.tasks)
    weights = 1 / (len(sizes) * sizes[layout.tasks])
    return TaskPosition(None, np.arange(len(layout.tasks)), weights)


def _row(
    features: Sequence[str], name: Name, layout: TestLayout, mean: _Mean, j: int | None = None
) -> Row:
    (feature, quantity), (place, values, error) = name, mean
    estimate = mean_of(Design(place.weights, layout.strata[place.examples]), values)
    return {
        "feature": feature,
        "depth": 1 + features.index(feature) if feature else None,
        "task_position": j,
        "quantity": quantity,
        **{column: getattr(estimate, column) for column in ("value", "low", "high", "seeds")},
        "sampling_error": error if quantity == "attributed" else float("nan"),
    }
