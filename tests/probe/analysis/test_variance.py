"""The quantile of a variance of two parts: its coverage by integration, whatever their shares."""

import numpy as np
import pytest
from scipy import stats

from probe.analysis.variance import Design

MANY = 10**6  # degrees of freedom of the part that is known
DESIGN = Design(np.full(MANY + 1, 1 / (MANY + 1)), np.zeros(MANY + 1, dtype=int))
RATIOS = [0.05, 0.2, 0.5, 1, 2, 4, 10, 30, 100]  # of the seeds' part to the examples'


def coverage(ratio, seeds):
    """Over the chi-squared law of the seeds' part, the chance that the truth is covered."""
    chances = (np.arange(400) + 0.5) / 400
    parts = ratio * stats.chi2.ppf(chances, seeds - 1) / (seeds - 1)
    widths = np.array([DESIGN.half_width(np.array([x, 1, 0]), seeds, 0.95) for x in parts])
    return (2 * stats.norm.cdf(widths / np.sqrt(ratio + 1)) - 1).mean()


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_95_percent_cover_94_to_97_percent_at_any_share(ratio, seeds):
    assert 0.945 < coverage(ratio, seeds) < 0.97
