"""The mean of a score over seeds and its standard deviation, as every table reports them."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True, kw_only=True)
class SeedMean:
    """A mean over seeds.

    std: the sample standard deviation (ddof=1) of the seeds' own scores, NaN for one seed; seeds:
    how many were averaged.
    """

    mean: float
    std: float
    seeds: int


def mean_over_seeds(scores: Iterable[tuple[int, float]]) -> SeedMean | None:
    """Average (seed, score) pairs over the orders within each seed first, then over the seeds.

    Source: Murata 2020, section 4. A NaN was not measured and counts nowhere; None if nothing was
    measured. The order of the pairs changes nothing.

    >>> mean_over_seeds([(0, 0.25), (0, 0.75), (1, 1.0)])
    SeedMean(mean=0.75, std=0.3535533905932738, seeds=2)
    """
    runs: defaultdict[int, list[float]] = defaultdict(list)
    for seed, score in scores:
        if not math.isnan(score):
            runs[seed].append(score)
    if not runs:
        return None
    # The unit of replication is the seed: its orders are no samples of their own. fmean and stdev
    # sum exactly, so that the last bit does not depend on the order in which runs finish.
    means = [fmean(runs[seed]) for seed in sorted(runs)]
    std = stdev(means) if len(means) > 1 else math.nan
    return SeedMean(mean=fmean(means), std=std, seeds=len(means))
