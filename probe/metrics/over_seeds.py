"""Mean and spread of a score over seeds, as every table and figure reports it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The mean over seeds, the sample standard deviation (ddof=1; NaN for one seed), their number.

    >>> over_seeds([(0, 0.25), (0, 0.75), (1, 1.0)])
    Spread(mean=0.75, std=0.3535533905932738, seeds=2)
    """

    mean: float
    std: float
    seeds: int


def over_seeds(scores: Iterable[tuple[int, float]]) -> Spread | None:
    """Average (seed, score) pairs over the orders within each seed first, then over the seeds.

    Source: Murata 2020, section 4. A NaN was not measured and counts nowhere; None if nothing was
    measured. The sums are exact, so that the order of the pairs changes nothing.
    """
    runs: defaultdict[int, list[float]] = defaultdict(list)
    for seed, score in scores:
        if not math.isnan(score):
            runs[seed].append(score)
    if not runs:
        return None
    means = [fmean(runs[seed]) for seed in sorted(runs)]
    std = stdev(means) if len(means) > 1 else math.nan
    return Spread(mean=fmean(means), std=std, seeds=len(means))
