"""What the metrics must be whatever is measured: plain loops, bounds, and what changes nothing."""

from statistics import mean

import pytest
from hypothesis import given, strategies as st

from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3, ce, cl_score, cl_stability, ms, sss

fractions = st.floats(0, 1)
numbers = st.lists(st.integers(1, 10**12), min_size=1, max_size=8)
seven = st.lists(fractions, min_size=7, max_size=7).map(
    lambda values: dict(zip(CRITERIA, values, strict=True))
)


@given(sizes=numbers, scale=st.integers(1, 1000))
def test_ms_is_the_mean_ratio_to_the_first_model_whatever_the_unit(sizes, scale):
    value = ms(sizes)
    assert value == pytest.approx(min(1, mean(sizes[0] / size for size in sizes)))
    assert 0 < value <= 1
    assert ms([scale * size for size in sizes]) == pytest.approx(value)


@given(stored=numbers, lifetime=st.integers(1, 10**13), scale=st.integers(1, 1000), data=st.data())
def test_sss_is_one_less_the_mean_share_whatever_the_unit_and_order(stored, lifetime, scale, data):
    value = sss(stored, lifetime)
    assert value == pytest.approx(1 - min(1, mean(size / lifetime for size in stored)))
    assert 0 <= value <= 1
    assert sss([scale * size for size in stored], scale * lifetime) == pytest.approx(value)
    assert sss(data.draw(st.permutations(stored)), lifetime) == pytest.approx(value)


@given(ops=st.lists(st.tuples(*2 * [st.integers(1, 10**12)]), min_size=1, max_size=8))
def test_ce_is_the_mean_share_of_one_pass_and_less_where_more_was_spent(ops):
    one_pass, spent = zip(*ops, strict=True)
    value = ce(one_pass, spent)
    assert value == pytest.approx(min(1, mean(a / b for a, b in ops)))
    assert 0 < value <= 1
    assert ce(one_pass, [2 * b for b in spent]) <= value
    assert ce(one_pass, spent, form="poster") <= value


@pytest.mark.parametrize("weights", [W1, W2, W3])
@given(criteria=seven)
def test_cl_score_lies_among_its_criteria_and_is_their_weighted_sum(weights, criteria):
    value = cl_score(criteria, weights)
    by_hand = sum(w * criteria[name] for w, name in zip(weights, CRITERIA, strict=True))
    assert value == pytest.approx(by_hand, abs=1e-12)
    assert min(criteria.values()) - 1e-12 <= value <= max(criteria.values()) + 1e-12
    assert cl_stability(criteria, weights) == pytest.approx(1 - by_hand, abs=1e-12)
    assert cl_score(dict(reversed(criteria.items())), weights) == value
