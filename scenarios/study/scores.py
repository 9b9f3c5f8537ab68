"""The metrics of a study: every paper's, for every learner, over orders and seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from probe.metrics.murata import forgetting_strength, pra
from probe.metrics.scorecard import scorecard
from probe.spread import over_seeds
from probe.table import MetricRow
from scenarios.study.results import Result

_Score = tuple[str, str, float]  # paper, metric, value
_Peers = Mapping[tuple[str, str, int], Result]  # by learner's kind, order, seed


def metric_rows(results: Sequence[Result], features: Sequence[str]) -> list[MetricRow]:
    """Return every metric that the finished jobs allow, averaged over orders, then over seeds.

    Chaudhry's intransigence needs the learner `cumulative` in the study, Kemker's Omega_base and
    Omega_all and Murata's forgetting strength need `offline`; without them they are left out.
    """
    scores: defaultdict[tuple[str, str, str], list[tuple[int, float]]] = defaultdict(list)
    peers = {(r.job.kind, r.job.order, r.job.seed): r for r in results}
    for result in results:
        for paper, metric, value in _scores(result, peers, features):
            scores[result.job.learner, paper, metric].append((result.job.seed, value))
    rows = []
    for (learner, paper, metric), values in scores.items():
        spread = over_seeds(values)
        if spread is not None:
            rows.append(
                MetricRow(
                    learner=learner,
                    paper=paper,
                    metric=metric,
                    mean=spread.mean,
                    std=spread.std,
                    seeds=spread.seeds,
                )
            )
    return rows


def _scores(result: Result, peers: _Peers, features: Sequence[str]) -> Iterator[_Score]:
    offline = peers.get(("offline", "", result.job.seed))
    yield from _murata(result, offline, features)
    R = result.matrix()
    if R is None or result.final is None:
        return
    cumulative = peers.get(("cumulative", result.job.order, result.job.seed))
    card = scorecard(
        R,
        reference=cumulative.matrix() if cumulative else None,
        ideal=_ideal(result, offline),
        test_sizes=[int(result.final.table[list(c)].sum()) for c in result.classes],
    )
    yield from ((paper, metric, value) for paper, metric, value in card.rows() if value is not None)


def _murata(result: Result, offline: Result | None, features: Sequence[str]) -> Iterator[_Score]:
    for feature in features:
        counts = result.at_feature(feature, features[-1])
        if counts is not None:
            yield "murata", f"pra[{feature}]", pra(counts)
            if offline and offline is not result and offline.final:
                strength = forgetting_strength(pra(offline.final), pra(counts))
                yield "murata", f"forgetting_strength[{feature}]", strength


def _ideal(result: Result, offline: Result | None) -> float | None:
    """Return alpha_ideal: offline accuracy on the first session's test data, None without any."""
    if offline is None or offline.final is None:
        return None
    return offline.final.accuracy(result.classes[0]) or None
