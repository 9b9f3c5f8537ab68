"""The published tables of Diaz-Rodriguez 2018, and what its criteria refuse."""

import pytest

from probe.errors import InputError
from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3, ce, cl_score, cl_stability, ms, sss

# Table 1 in its own column order, and the CLscores of Table 3 under W1, W2, W3.
TABLE_1 = ("A", "REM", "BWT+", "FWT", "MS", "SSS", "CE")
PUBLISHED = {
    "naive": ((0.3825, 0.6664, 0, 0.1, 1, 1, 0.4492), (0.5140, 0.5529, 0.5312)),
    "cumulative": ((0.7225, 1, 0.0673, 0.1, 1, 0.55, 0.1496), (0.5128, 0.6223, 0.5373)),
    "ewc": ((0.5940, 0.9821, 0, 0.1, 0.4, 1, 0.3495), (0.4894, 0.6449, 0.5816)),
    "lwf": ((0.5278, 0.9667, 0, 0.1, 1, 1, 0.4429), (0.5768, 0.6554, 0.6030)),
    "si": ((0.5795, 0.9620, 0, 0.1, 0.4, 1, 0.3613), (0.4861, 0.6372, 0.5772)),
}
NAIVE = dict(zip(TABLE_1, PUBLISHED["naive"][0], strict=True))


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_cl_score_gives_table_3_to_four_decimals(strategy):
    row, scores = PUBLISHED[strategy]
    criteria = dict(zip(TABLE_1, row, strict=True))
    assert tuple(round(cl_score(criteria, weights), 4) for weights in (W1, W2, W3)) == scores
    assert cl_score(criteria) == cl_score(criteria, dict(zip(CRITERIA, W1, strict=True)))
    assert cl_stability(criteria, W2) == 1 - cl_score(criteria, W2)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ((0.5, 0.5), "got 2 weights, expected 7"),
        ((0.2,) * 7, "sum to 1, got 1.4"),
        ((0.5, 0.7, -0.2, 0, 0, 0, 0), "weight of criterion SSS is -0.2"),
        ({"A": 1.0}, "no weight of criterion MS, SSS"),
        ({"accuracy": 1.0}, "unknown criterion 'accuracy'"),
    ],
)
def test_weights_that_are_wrong_are_refused(weights, reason):
    with pytest.raises(InputError, match=reason):
        cl_stability(NAIVE, weights)


COSTS = {
    "ms: three copies from the second of ten tasks on, as in table 1": (ms([7] + 9 * [21]), 0.4),
    "ms: capped for one that shrinks": (ms([5, 1, 1]), 1),
    "sss: all ten tasks are kept, as in table 1": (sss([30 * i for i in range(10)], 300), 0.55),
    "sss: more than the lifetime data": (sss([20, 20, 20], 10), 0),
    "ce: passes": (ce([6, 6], [60, 30]), (0.1 + 0.2) / 2),
    "ce: scaled up to one": (ce([6, 6], [60, 30], epsilon=100), 1),
    "ce: the poster divides by one more": (ce([6, 6], [59, 29], form="poster"), (0.1 + 0.2) / 2),
}


@pytest.mark.parametrize("case", COSTS)
def test_criteria_of_costs_by_hand(case):
    found, expected = COSTS[case]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        (lambda: ms([1, 0]), "model_bytes must be above 0"),
        (lambda: ms([1, float("nan")]), "model_bytes must hold a number >= 0"),
        (lambda: sss([1], -1), "lifetime_bytes must be a number above 0, got -1"),
        (lambda: ce([1, 1], [2]), "operations of 2 and 1 tasks"),
        (lambda: ce([1], [2], epsilon=0.5), "epsilon must be a number >= 1"),
        (lambda: ce([1], [2], form="papr"), "unknown form 'papr': did you mean 'paper'"),
    ],
)
def test_costs_that_are_wrong_are_refused(criterion, reason):
    with pytest.raises(InputError, match=reason):
        criterion()
