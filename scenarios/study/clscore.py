"""CLscore and CLstability of a study's learners, from the criteria that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from probe.metrics.diaz_rodriguez import CRITERIA, cl_score, cl_stability
from probe.metrics.over_seeds import Spread
from scenarios.study.report import ReportSpec

NAMES = dict(zip(CRITERIA, ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt"), strict=True))
"""The criteria's names in metrics.csv."""


def cl_scores(criteria: Mapping[str, Spread], report: ReportSpec) -> Iterator[tuple[str, Spread]]:
    """Yield (metric, spread) for CLscore and CLstability under every weighting of the report.

    criteria: one learner's seven, by name in metrics.csv; nothing comes out unless all are there.
    The mean is the score (Diaz-Rodriguez 2018, eq. 8 and 9, of means and deviations over the
    seeds); it has no deviation of its own. CLstability needs two seeds.
    """
    if not set(NAMES.values()) <= set(criteria):
        return
    means = {name: criteria[key].mean for name, key in NAMES.items()}
    stds = {name: criteria[key].std for name, key in NAMES.items()}
    seeds = min(criteria[key].seeds for key in NAMES.values())
    for name, weights in report.weightings.items():
        yield f"cl_score[{name}]", _alone(cl_score(means, weights), seeds)
        if seeds > 1:
            yield f"cl_stability[{name}]", _alone(cl_stability(stds, weights), seeds)


def _alone(value: float, seeds: int) -> Spread:
    return Spread(mean=value, std=math.nan, seeds=seeds)
