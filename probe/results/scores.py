"""The metrics of a study: every paper's, for every learner, over orders and seeds.

`probe.metrics` computes the metrics of one job; this module adds the learners that a
metric compares with, and the averages. A metric of a seed is the mean over its orders,
and a metric of a learner is the mean and deviation over its seeds. Metrics with missing
inputs are left out:

- intransigence (Chaudhry 2018) needs the learner `cumulative`, of the same order and
  seed;
- Omega_base and Omega_all (Kemker 2018) need `offline`, of the same seed;
- the strength of forgetting (Murata 2020) needs `offline`, of the same seed;
- the metrics of a feature's matrix A need all of its rows;
- CLscore (Diaz-Rodriguez 2018) needs all seven criteria, and CLstability also needs two
  seeds.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import product
from typing import NamedTuple

from probe.analysis.intervals import SeedMean, mean_over_seeds
from probe.by_layer.jobs import Job
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.by_layer.report import ReportSpec
from probe.errors import described, no_exit
from probe.extensions import MetricEntry
from probe.metrics.deep_shallow import deep_forgetting, replay_gap, shallow_forgetting
from probe.metrics.diaz_rodriguez import (
    NAMES,
    cl_score,
    cl_stability,
    criteria_of_costs,
)
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import forgetting_strength
from probe.metrics.scorecard import Scorecard, scorecard
from probe.results.predictions import Predictions, main_head
from probe.seeding import every_global_stream, stream
from probe.tables.schemas import LARGEST, Row


class _Name(NamedTuple):
    """The metric in a line of metrics.csv; feature, readout: empty for R."""

    head: str
    paper: str
    metric: str
    feature: str = ""
    readout: str = ""


_Peers = Mapping[tuple[str, str, int], Job]  # by learner's kind, order, seed
_Values = Iterator[tuple[_Name, float]]
_Metrics = Iterable[MetricEntry]  # the user's


def metric_rows(
    predictions: Predictions, metrics: _Metrics = (), *, by_first: bool = False
) -> list[Row]:
    """Return every metric that the finished jobs allow, averaged over orders, then over seeds.

    Metrics of the outputs are computed under each head of the report.

    Args:
        predictions: The predictions of all jobs.
        metrics: User-defined metrics.
        by_first: Whether to add the Omegas by first task, as `omega_base[NAME first]`:
            in Kemker 2018's multi-modal experiment the orders are not repetitions of
            each other.
    """
    values: dict[str, defaultdict[_Name, list[tuple[int, float]]]] = {}
    # By kind, not by name: the names are the user's choice.
    peers = {(job.kind, job.order, job.seed): job for job in predictions.runs}
    report = predictions.plan.report
    for job in predictions.runs:
        seeds_and_values = values.setdefault(job.learner, defaultdict(list))
        for name, value in _metrics_of(predictions, job, peers, metrics):
            seeds_and_values[name].append((job.seed, value))
            # The same metric once more, of the orders that begin with this task.
            if by_first and name.metric.startswith("omega_") and not job.offline:
                first = f"{name.metric}[{predictions.names(job)[0]} first]"
                seeds_and_values[name._replace(metric=first)].append((job.seed, value))
    # Seeds are averaged only here: until then a value belongs to its seed.
    rows: list[Row] = []
    for learner, values_by_name in values.items():
        means: dict[_Name, SeedMean] = {}
        for name, pairs in values_by_name.items():
            if mean := mean_over_seeds(pairs):
                means[name] = mean
        for head in report.heads:
            for metric, score in cl_scores(_criteria(means, head), report):
                means[_Name(head, "diaz_rodriguez", metric)] = score
        rows += [
            {
                "learner": learner,
                **name._asdict(),
                **vars(mean),
            }
            for name, mean in means.items()
        ]
    return rows


def _criteria(means: Mapping[_Name, SeedMean], head: str) -> dict[str, SeedMean]:
    """Return the criteria of Diaz-Rodriguez 2018 that a learner has under a head, by metric."""
    # Costs have no head: they are the same under each.
    return {
        name.metric: mean
        for name, mean in means.items()
        if name.paper == "diaz_rodriguez"
        and name.head in ("", head)
        and not name.feature
    }


def cl_scores(
    criteria: Mapping[str, SeedMean], report: ReportSpec
) -> Iterator[tuple[str, SeedMean]]:
    """Yield (metric, score) for CLscore and CLstability under every weighting of the report.

    The mean is the score (Diaz-Rodriguez 2018, eq. 8 and 9, of means and deviations
    over the seeds); it has no deviation. CLstability needs two seeds.

    Args:
        criteria: One learner's seven criteria, by name in metrics.csv; all are
            required.
        report: The weightings.
    """
    if not set(NAMES.values()) <= set(criteria):
        return
    measured = {name: criteria[key] for name, key in NAMES.items()}
    seeds = min(criterion.seeds for criterion in measured.values())
    for name, weights in report.weightings.items():
        scores = {
            "cl_score": cl_score({n: c.mean for n, c in measured.items()}, weights)
        }
        if seeds > 1:
            stds = {n: c.std for n, c in measured.items()}
            scores["cl_stability"] = cl_stability(stds, weights)
        for metric, score in scores.items():
            yield (
                f"{metric}[{name}]",
                SeedMean(mean=score, std=math.nan, seeds=seeds),
            )


def user_scores(
    R: AccuracyMatrix, metrics: _Metrics
) -> tuple[dict[str, float], list[str]]:
    """Return the scores of user-defined metrics for an accuracy matrix, and notes.

    A metric that fails, or returns a number that tables cannot hold, gets a note and
    does not affect other tables.

    Args:
        R: Accuracy matrix, (T+1, T).
        metrics: The metrics.
    """
    values: dict[str, float] = {}
    notes = []
    for metric in metrics:
        try:
            with no_exit(), every_global_stream(stream(0, "metric")):
                value = float(metric.score(R))
        except Exception as error:
            notes.append(f"the metric {metric.name} raised {described(error)}")
            continue
        # The deviation over two seeds must be in a table, too.
        if abs(value) <= LARGEST / 2:
            values[metric.name] = value
        else:
            notes.append(
                f"the metric {metric.name} gave {value}, expected a number of "
                f"{LARGEST / 2:g} at most"
            )
    return values, notes


def _metrics_of(
    predictions: Predictions, job: Job, peers: _Peers, metrics: _Metrics
) -> _Values:
    """Yield every metric of a job that can be computed, with its name.

    peers: all jobs of the study, to compare with.
    """
    yield from _murata(predictions, job, peers)
    yield from _of_outputs(predictions, job, peers, metrics)
    yield from _of_layers(predictions, job, peers, metrics)
    yield from _of_costs(predictions, job)


def _murata(predictions: Predictions, job: Job, peers: _Peers) -> _Values:
    """Yield PRA and the strength of forgetting by feature, compared with the seed's ceiling."""
    offline = peers.get((OFFLINE, "", job.seed))
    ceiling = None
    # Offline compared with itself would forget nothing, by definition.
    if offline is not None and offline is not job:
        # A task-aware learner is compared with a control that is task-aware, too.
        ceiling = predictions.output(offline, main_head(job)).get(offline.last)
    for feature, row in predictions.retrained_rows(job).items():
        pra = predictions.pra[row]
        yield _Name("", "murata", f"pra[{feature}]"), pra
        if ceiling is not None and job.kind != UNTRAINED:
            name = _Name("", "murata", f"forgetting_strength[{feature}]")
            yield name, forgetting_strength(predictions.pra[ceiling], pra)


def _of_outputs(
    predictions: Predictions, job: Job, peers: _Peers, metrics: _Metrics
) -> _Values:
    """Yield all metrics of the job's R under each head, see `probe.metrics.scorecard`.

    It yields nothing unless all of R is measured. The reference is the cumulative
    learner of the same order and seed; alpha_ideal is the accuracy of the offline
    network on the first session's test data; test_sizes weigh tasks by examples or by
    classes, as the report says.
    """
    offline = peers.get((OFFLINE, "", job.seed))
    cumulative = peers.get(("cumulative", job.order, job.seed))
    for head in predictions.plan.report.heads:
        R = predictions.R(job, head)
        if R is None:
            continue
        ideal = None
        if offline:
            final = predictions.output(offline, head).get(offline.last)
            # `offline` has the tasks in base order. An accuracy of 0 is no ideal.
            ideal = _ideal(predictions, final, job)
        card = scorecard(
            R,
            reference=predictions.R(cumulative, head) if cumulative else None,
            ideal=ideal,
            test_sizes=_sizes(predictions, job),
        )
        for paper, metric, value in _of_matrix(R, card, metrics):
            yield _Name(head, paper, metric), value


def _sizes(predictions: Predictions, job: Job) -> tuple[int, ...]:
    """Return by what tasks are weighed: examples or, for means over classes, classes."""
    if predictions.plan.report.mean == "examples":
        return predictions.test_sizes(job)
    return tuple(len(classes) for classes in predictions.classes(job))


def _ideal(predictions: Predictions, row: int | None, job: Job) -> float | None:
    """Return the accuracy of an offline network on a job's first task, None for 0 or no row."""
    if row is None:
        return None
    return float(predictions.accuracy[row][job.tasks[0]]) or None


def _of_matrix(
    R: AccuracyMatrix, card: Scorecard, metrics: _Metrics
) -> Iterator[tuple[str, str, float]]:
    """Yield (paper, metric, value) of the papers' metrics, and of the user's."""
    for paper, metric, value in card.rows():
        if value is not None:
            yield paper, metric, value
    for metric, score in user_scores(R, metrics)[0].items():
        yield "own", metric, score


def _of_layers(
    predictions: Predictions, job: Job, peers: _Peers, metrics: _Metrics
) -> _Values:
    """Yield all metrics of each feature's matrix A, and compare its forgetting with R's.

    It yields nothing unless all of A is measured, including its floor. Kemker's ideal
    is the ceiling on the first task. Linear readouts add deep forgetting and the replay
    gap; task-aware ones are compared with R under the head `multi`.
    """
    R = predictions.R(job, main_head(job))
    untrained, offline = (peers.get((kind, "", job.seed)) for kind in CONTROLS)
    if job.offline or job.own_network:
        untrained = offline = None
    readouts = predictions.readouts_of([job])
    *hidden, output = predictions.features(job)
    if R is not None and readouts and R.tasks > 1:
        yield _Name("", "deep_shallow", "shallow_forgetting"), shallow_forgetting(R)
    for readout, feature in product(readouts, hidden):
        A = predictions.A(job, feature, readout, untrained)
        if A is None:
            continue
        ceiling = predictions.at_end(offline, feature, readout) if offline else None
        ideal = _ideal(predictions, ceiling, job)
        card = scorecard(A, ideal=ideal, test_sizes=_sizes(predictions, job))
        for paper, metric, value in _of_matrix(A, card, metrics):
            name = _Name("", paper, metric, feature, readout)
            yield name, value
        at_output = R
        if readout in predictions.task_aware_readouts:
            at_output = predictions.A(job, output, readout, untrained)
        if readout in ("linear", "linear-task") and at_output and at_output.tasks > 1:
            deep = _Name(
                "",
                "deep_shallow",
                "deep_forgetting",
                feature,
                readout,
            )
            yield deep, deep_forgetting(A)
            yield deep._replace(metric="replay_gap"), replay_gap(at_output, A)


def _of_costs(predictions: Predictions, job: Job) -> _Values:
    """Yield the cost metrics of Diaz-Rodriguez 2018 and Kemker 2018, once all tasks are learned.

    Joint training has none.

    Kemker's model size (table 2) is the model and all else that is kept, in 10^6 bytes.
    """
    costs = [asdict(training.cost) for _, training in predictions.costs(job)]
    if job.offline or len(costs) < len(job.tasks):
        return
    report = predictions.plan.report
    columns = {name: [cost[name] for cost in costs] for name in costs[0]}
    scores = criteria_of_costs(columns, report.ce_epsilon, report.ce_form)
    for name, value in scores.items():
        yield _Name("", "diaz_rodriguez", name), value
    yield _Name("", "kemker", "model_size_mb"), columns["kept_bytes"][-1] / 1e6
