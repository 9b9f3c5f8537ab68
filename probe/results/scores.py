"""The metrics of a study: every paper's, for every learner, over orders and seeds.

`probe.metrics` computes the metrics of one job; this module adds the learners that a metric
compares with, and the averages. A metric of a seed is the mean over its orders, and a metric of a
learner is mean and deviation over its seeds. Metrics whose inputs a study lacks are left out:

- intransigence (Chaudhry 2018) needs the learner `cumulative`, of the same order and seed;
- Omega_base and Omega_all (Kemker 2018) need `offline`, of the same seed;
- the strength of forgetting (Murata 2020) needs `offline`, of the same seed;
- the metrics of a feature's matrix A need all of its rows;
- CLscore (Diaz-Rodriguez 2018) needs all seven criteria, CLstability two seeds besides.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from probe.by_layer.heads import Head
from probe.by_layer.report import ReportSpec
from probe.metrics.deep_shallow import deep_forgetting, replay_gap, shallow_forgetting
from probe.metrics.diaz_rodriguez import CRITERIA, ce, cl_score, cl_stability, ms, sss
from probe.metrics.mean_over_seeds import SeedMean, mean_over_seeds
from probe.metrics.murata import forgetting_strength
from probe.metrics.scorecard import scorecard
from probe.results.result import Result, own_head
from probe.results.user_metrics import UserMetrics, user_scores
from probe.tables.rows import MetricRow

CRITERIA_NAMES = dict(
    zip(CRITERIA, ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt"), strict=True)
)
"""The names of CLscore's criteria in metrics.csv, by their names in the paper."""


class _Name(NamedTuple):
    """The metric in a line of metrics.csv; feature, readout: empty for R."""

    head: str
    paper: str
    metric: str
    feature: str = ""
    readout: str = ""


_Scores = defaultdict[_Name, list[tuple[int, float]]]  # seed, value
_Peers = Mapping[tuple[str, str, int], Result]  # by learner's kind, order, seed


def metric_rows(
    results: Sequence[Result],
    report: ReportSpec,
    metrics: UserMetrics = (),
    by_first: bool = False,
) -> list[MetricRow]:
    """Return every metric that the finished jobs allow, averaged over orders, then over seeds.

    Metrics of the outputs come under each head of the report. metrics: user-defined ones; by_first:
    whether the Omegas also come by the first task, as `omega_base[NAME first]`: in Kemker 2018's
    multi-modal experiment the orders are not repetitions of each other.
    """
    scores: defaultdict[str, _Scores] = defaultdict(lambda: defaultdict(list))
    # By kind, not by name: the names are the user's choice.
    peers = {(r.job.kind, r.job.order, r.job.seed): r for r in results}
    for result in results:
        own, seed = scores[result.job.learner], result.job.seed
        for name, value in _scores(result, peers, report, metrics):
            own[name].append((seed, value))
            if by_first and name.metric.startswith("omega_") and not result.job.offline:
                first = f"{name.metric}[{result.names[0]} first]"
                own[name._replace(metric=first)].append((seed, value))
    # Only here are seeds averaged: until then a score belongs to its seed.
    rows = []
    for learner, own in scores.items():
        means = {name: found for name, values in own.items() if (found := mean_over_seeds(values))}
        rows += [_row(learner, *each) for each in [*means.items(), *_cl(means, report)]]
    return rows


def cl_scores(
    criteria: Mapping[str, SeedMean], report: ReportSpec
) -> Iterator[tuple[str, SeedMean]]:
    """Yield (metric, score) for CLscore and CLstability under every weighting of the report.

    criteria: one learner's seven, by name in metrics.csv; yields nothing unless all are there. The
    mean is the score (Diaz-Rodriguez 2018, eq. 8 and 9, of means and deviations over the seeds); it
    has no deviation. CLstability needs two seeds.
    """
    if not set(CRITERIA_NAMES.values()) <= set(criteria):
        return
    measured = {name: criteria[key] for name, key in CRITERIA_NAMES.items()}
    means = {name: each.mean for name, each in measured.items()}
    stds = {name: each.std for name, each in measured.items()}
    seeds = min(each.seeds for each in measured.values())
    for name, weights in report.weightings.items():
        score = cl_score(means, weights)
        yield f"cl_score[{name}]", SeedMean(mean=score, std=math.nan, seeds=seeds)
        if seeds > 1:
            stability = cl_stability(stds, weights)
            yield f"cl_stability[{name}]", SeedMean(mean=stability, std=math.nan, seeds=seeds)


def _scores(
    result: Result, peers: _Peers, report: ReportSpec, metrics: UserMetrics
) -> Iterator[tuple[_Name, float]]:
    """Yield every metric of a job that can be computed, with its name.

    peers: all finished jobs of the study, to compare with.
    """
    yield from _murata(result, peers.get(("offline", "", result.job.seed)))
    for head in report.heads:
        yield from _of_outputs(result, peers, head, report)
        if (R := result.matrix(head)) and result.test_sizes:
            for metric, value in user_scores(R, metrics).values.items():
                yield _Name(head, "own", metric), value
    yield from _of_layers(result, peers, report)
    yield from _of_costs(result)


def _murata(result: Result, offline: Result | None) -> Iterator[tuple[_Name, float]]:
    """Yield PRA and the strength of forgetting by feature; offline: the seed's ceiling."""
    level = None
    # Offline compared with itself would forget nothing, by definition.
    if offline is not None and offline is not result:
        # A learner that is told the task is compared with a control that is told it, too.
        level = offline.final.get(own_head(result.job))
    for feature, behind in result.retrained.items():
        yield _Name("", "murata", f"pra[{feature}]"), behind.pra
        if level is not None and result.job.kind != "untrained":
            strength = forgetting_strength(level, behind.pra)
            yield _Name("", "murata", f"forgetting_strength[{feature}]"), strength


def _of_outputs(
    result: Result, peers: _Peers, head: Head, report: ReportSpec
) -> Iterator[tuple[_Name, float]]:
    """Yield all metrics of the job's R under a head, see `probe.metrics.scorecard`.

    None unless all of R is measured. The reference is the cumulative learner of the same order and
    seed; test_sizes weigh tasks as the report says, by examples or by classes.
    """
    R = result.matrix(head)
    if R is None or not result.test_sizes:
        return
    by_classes = tuple(len(classes) for _, classes in result.tasks)
    cumulative = peers.get(("cumulative", result.job.order, result.job.seed))
    card = scorecard(
        R,
        reference=cumulative.matrix(head) if cumulative else None,
        ideal=_ideal(result, peers.get(("offline", "", result.job.seed)), head),
        test_sizes=result.test_sizes if report.mean == "examples" else by_classes,
    )
    for paper, metric, value in card.rows():
        if value is not None:
            yield _Name(head, paper, metric), value


def _of_layers(result: Result, peers: _Peers, report: ReportSpec) -> Iterator[tuple[_Name, float]]:
    """Yield all metrics of each feature's matrix A, and compare its forgetting with R's.

    Yields nothing unless all of A is measured, its floor included. Kemker's ideal is the ceiling on
    the first task; the linear readout adds deep forgetting and the replay gap.
    """
    untrained = peers.get(("untrained", "", result.job.seed))
    offline = peers.get(("offline", "", result.job.seed))
    if result.job.offline or result.job.own_network:
        untrained = offline = None
    R = result.matrix(own_head(result.job)) if own_head(result.job) in result.accuracy else None
    if R is not None and result.readouts and R.tasks > 1:
        yield _Name("", "deep_shallow", "shallow_forgetting"), shallow_forgetting(R)
    for readout, feature in product(result.readouts, result.features[:-1]):
        A = result.layer_matrix(feature, readout, untrained)
        if A is None or not result.test_sizes:
            continue
        name = partial(_Name, head="", feature=feature, readout=readout)
        ceiling = offline.rows(feature, readout).get(offline.last) if offline else None
        ideal = float(ceiling.accuracy[result.job.tasks[0]]) if ceiling else None
        card = scorecard(A, ideal=ideal or None, test_sizes=result.test_sizes)
        for paper, metric, value in card.rows():
            if value is not None:
                yield name(paper=paper, metric=metric), value
        if readout == "linear" and R is not None and R.tasks > 1:
            own = partial(name, paper="deep_shallow")
            yield own(metric="deep_forgetting"), deep_forgetting(A)
            yield own(metric="replay_gap"), replay_gap(R, A)


def _of_costs(result: Result) -> Iterator[tuple[_Name, float]]:
    """Yield the cost metrics of Diaz-Rodriguez 2018 and Kemker 2018, once all tasks are learned.

    Kemker's model size (table 2) is the model and all else that is kept, in 10^6 bytes.
    Mem(theta_i) is the model with all that the learner carried into task i, Mem(D) all training
    data.
    """
    costs = list(result.costs.values())
    if result.job.offline or len(costs) < len(result.tasks):
        return
    memory = [cost.parameter_bytes + cost.carried_bytes for cost in costs]
    lifetime = sum(cost.train_bytes for cost in costs)
    scores = {
        "ms": ms(memory),
        "sss": sss([cost.stored_bytes for cost in costs], lifetime),
        "ce": ce([cost.ops_one_pass for cost in costs], [cost.ops for cost in costs]),
    }
    yield from ((_Name("", "diaz_rodriguez", name), value) for name, value in scores.items())
    yield _Name("", "kemker", "model_size_mb"), costs[-1].kept_bytes / 1e6


def _ideal(result: Result, offline: Result | None, head: Head) -> float | None:
    """Return alpha_ideal: offline accuracy on the first session's test data, None without one."""
    final = offline.accuracy[head].get(len(result.tasks)) if offline else None
    # Offline has the tasks in base order.
    return (float(final[result.job.tasks[0]]) or None) if final is not None else None


def _cl(own: Mapping[_Name, SeedMean], report: ReportSpec) -> Iterator[tuple[_Name, SeedMean]]:
    """Yield CLscore and CLstability of a learner, under each head; own: its other metrics."""
    for head in report.heads:
        # Costs have no head: they are the same under each.
        criteria = {
            metric: found
            for (of_head, paper, metric, feature, _), found in own.items()
            if paper == "diaz_rodriguez" and of_head in ("", head) and not feature
        }
        for metric, score in cl_scores(criteria, report):
            yield _Name(head, "diaz_rodriguez", metric), score


def _row(learner: str, name: _Name, found: SeedMean) -> MetricRow:
    return MetricRow(learner=learner, **name._asdict(), **vars(found))
