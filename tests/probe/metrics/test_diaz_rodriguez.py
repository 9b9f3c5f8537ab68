"""The published tables of Diaz-Rodriguez 2018, and what its criteria refuse."""

import pytest

from probe.metrics.diaz_rodriguez import (
    CRITERIA,
    W1,
    W2,
    W3,
    ce,
    cl_score,
    cl_stability,
    ms,
    sss,
)

# Table 1 in its own column order, and the CLscores of Table 3 under W1, W2, W3.
TABLE_1 = ("A", "REM", "BWT+", "FWT", "MS", "SSS", "CE")
PUBLISHED = {
    "naive": ((0.3825, 0.6664, 0, 0.1, 1, 1, 0.4492), (0.5140, 0.5529, 0.5312)),
    "cumulative": ((0.7225, 1, 0.0673, 0.1, 1, 0.55, 0.1496), (0.5128, 0.6223, 0.5373)),
    "ewc": ((0.5940, 0.9821, 0, 0.1, 0.4, 1, 0.3495), (0.4894, 0.6449, 0.5816)),
    "lwf": ((0.5278, 0.9667, 0, 0.1, 1, 1, 0.4429), (0.5768, 0.6554, 0.6030)),
    "si": ((0.5795, 0.9620, 0, 0.1, 0.4, 1, 0.3613), (0.4861, 0.6372, 0.5772)),
}


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_cl_score_gives_table_3_to_four_decimals(strategy):
    row, scores = PUBLISHED[strategy]
    criteria = dict(zip(TABLE_1, row, strict=True))
    assert (
        tuple(round(cl_score(criteria, weights), 4) for weights in (W1, W2, W3))
        == scores
    )
    assert cl_score(criteria) == cl_score(
        criteria, dict(zip(CRITERIA, W1, strict=True))
    )
    assert cl_stability(criteria, W2) == 1 - cl_score(criteria, W2)


COSTS = {
    "ms: capped for one that shrinks": (ms([5, 1, 1]), 1),
    "sss: more than the lifetime data": (sss([20, 20, 20], 10), 0),
    "ce: passes": (ce([6, 6], [60, 30]), (0.1 + 0.2) / 2),
    "ce: scaled up to one": (ce([6, 6], [60, 30], epsilon=100), 1),
    "ce: the poster divides by one more": (
        ce([6, 6], [59, 29], form="poster"),
        (0.1 + 0.2) / 2,
    ),
}


@pytest.mark.parametrize("case", COSTS)
def test_criteria_of_costs_by_hand(case):
    found, expected = COSTS[case]
    assert found == pytest.approx(expected, abs=1e-12)
