"""The causes of forgetting: which block's change cost how much, by task position, with intervals.

Source: `probe.rewinding.hybrids`. Of each earlier task j, over the test examples of that task:
forgotten = competition + lost, where competition = R[j, j] minus the score of the last network with
all blocks put back, among the classes that compete now; what is attributed to the blocks adds up to
lost. A seed counts once all of its orders are finished.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from probe.analysis.intervals import Estimate, mean_of
from probe.analysis.layers import TestLayout
from probe.analysis.task_positions import TaskPosition, at_position, mean_over_positions
from probe.analysis.variance import Design, Floats
from probe.by_layer.measurement import Measurement, blocks_put_back
from probe.by_layer.plan import CONTROLS
from probe.results.layers import jobs_by_learner, layout_of
from probe.results.result import JobResult, main_head
from probe.rewinding.hybrids import Rewinding
from probe.tables.schemas import Row

Values = dict[tuple[str, str], Floats]
"""(N,) values of a run's test examples by feature and quantity; the feature is empty for the
whole network."""

_OF_BLOCKS = ("attributed", "restored", "broken")


def cause_rows(results: Sequence[JobResult], hybrids: int) -> Iterator[Row]:
    """Yield the rows of `causes`.

    Args:
        results: The results of a plan's jobs.
        hybrids: The most sets of blocks that were put back.
    """
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for learner, runs in jobs_by_learner(learned).items():
        orders = {run.job.order: run.job.tasks for run in runs}
        by_run = {(run.job.seed, run.job.order): run for run in runs}
        positions = sorted(set[int]().union(*(run.rewound for run in runs)))
        seeds = [
            seed
            for seed in dict.fromkeys(run.job.seed for run in runs)
            if all(
                (seed, order) in by_run and by_run[seed, order].rewound.keys() >= set(positions)
                for order in orders
            )
        ]
        if not (positions and seeds and runs[0].test):
            continue
        complete = [by_run[run] for run in product(seeds, orders)]
        layout = layout_of(runs[0].test, list(orders.values()))
        for score in ("accuracy", "loss"):
            columns = {"learner": learner, "score": score}
            for row in _of_learner(complete, positions, len(seeds), layout, score, hybrids):
                yield {**columns, **row}


def _of_learner(
    runs: Sequence[JobResult],
    positions: Sequence[int],
    seeds: int,
    layout: TestLayout,
    score: str,
    hybrids: int,
) -> Iterator[Row]:
    features, T = runs[0].features, layout.orders.shape[1]
    means: dict[tuple[str, str], list[Floats]] = {}
    places = [at_position(layout.tasks, layout.orders, j) for j in positions]
    errors = []
    for j, place in zip(positions, places, strict=True):
        values, error = zip(*(_values(run, j, score, hybrids) for run in runs), strict=True)
        errors.append({f: _combined([e.get(f, 0.0) for e in error]) for f in features})
        for key in values[0]:
            stacked = np.array([by_key[key] for by_key in values]).reshape(
                seeds, -1, len(layout.tasks)
            )
            if not np.isfinite(stacked).all():
                continue
            at = _by_task(layout, T) if key[1] == "net" else place
            means.setdefault(key, []).append(at.mean(stacked))
            yield _row(features, key, at, layout, means[key][-1], j, errors[-1])
    for key, by_position in means.items():
        if len(by_position) == len(positions) == T - 1:
            used = [_by_task(layout, T)] * (T - 1) if key[1] == "net" else places
            mean, x = mean_over_positions(used, by_position)
            error = {f: _combined([e[f] for e in errors]) for f in features}
            yield _row(features, key, mean, layout, x, None, error)


def _values(
    run: JobResult, position: int, score: str, hybrids: int
) -> tuple[Values, dict[str, float]]:
    """Return the quantities of each test example of a run, and the error of sampling by block."""
    measurement, test = run.rewound[position], run.rewound[position].test
    by_class = np.lexsort((test.labels, test.tasks))
    of_task = test.tasks == run.job.tasks[position - 1]
    scores = {
        tuple(blocks_put_back(name)): _scores(measurement, name, score)
        for name in measurement.predicted
    }
    blocks = max(scores, key=len)
    result = Rewinding(
        blocks=blocks,
        scores={names: x[of_task] for names, x in scores.items()},
        everywhere={names: x for names, x in scores.items() if len(names) < 2},
        limit=hybrids,
    )

    def spread(x: Floats) -> Floats:
        values = np.zeros(len(of_task))
        values[of_task] = x
        return values[by_class]

    learned = _learned(run, position, score)
    values = {("", "lost"): spread(result.lost)}
    if learned is not None:
        values["", "competition"] = spread(learned[of_task] - result.scores[blocks])
        values["", "forgotten"] = spread(learned[of_task] - result.scores[()])
    for quantity in _OF_BLOCKS:
        by_block = dict(zip(blocks, getattr(result, quantity), strict=True))
        for feature in run.features:
            values[feature, quantity] = spread(by_block.get(feature, np.zeros(of_task.sum())))
    net = dict(zip(blocks, result.net, strict=True))
    for feature in run.features:
        values[feature, "net"] = net.get(feature, np.zeros(len(of_task)))[by_class]
    return values, dict(zip(blocks, result.sampling_error.tolist(), strict=True))


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return (measurement.predicted[head] == measurement.test.labels).astype(np.float64)


def _learned(run: JobResult, position: int, score: str) -> Floats | None:
    """Return the score of each test example just after the task at a position was learned."""
    return (
        None
        if (output := run.tested.get(position)) is None
        else _scores(output, main_head(run.job), score)
    )


def _by_task(layout: TestLayout, T: int) -> TaskPosition:
    """Return all test examples, of which all tasks weigh the same."""
    sizes = np.bincount(layout.tasks, minlength=T)
    return TaskPosition(None, np.arange(len(layout.tasks)), 1 / (T * sizes[layout.tasks]))


def _combined(errors: Sequence[float]) -> float:
    """Return the standard error of a mean of values with independent errors."""
    return float(np.sqrt(np.square(errors).sum()) / len(errors))


def _row(
    features: Sequence[str],
    key: tuple[str, str],
    position: TaskPosition,
    layout: TestLayout,
    values: Floats,
    j: int | None,
    errors: Mapping[str, float],
) -> dict[str, Any]:
    feature, quantity = key
    design = Design(position.weights, layout.strata[position.examples])
    estimate: Estimate = mean_of(design, values)
    return {
        "feature": feature,
        "depth": 1 + features.index(feature) if feature else None,
        "task_position": j,
        "quantity": quantity,
        **{name: getattr(estimate, name) for name in ("value", "low", "high", "seeds")},
        "sampling_error": errors[feature] if quantity == "attributed" else float("nan"),
    }
