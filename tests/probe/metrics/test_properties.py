"""What the metrics must be whatever is measured: plain loops, bounds, and what changes nothing."""

import math
from statistics import mean

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from probe.errors import NotMeasured
from probe.metrics import chaudhry
from probe.metrics.counts import Counts
from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3, ce, cl_score, cl_stability, ms, sss
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import forgetting_strength, pra, task_f1

fractions = st.floats(0, 1)
numbers = st.lists(st.integers(1, 10**12), min_size=1, max_size=8)
seven = st.lists(fractions, min_size=7, max_size=7).map(
    lambda values: dict(zip(CRITERIA, values, strict=True))
)


@st.composite
def matrices(draw, least=1):
    T = draw(st.integers(least, 6))
    return AccuracyMatrix(draw(arrays(np.float64, (T + 1, T), elements=st.floats(0, 1, width=32))))


def test_what_comes_before_does_change_it():
    values = np.array([[0.5, 0.5], [0.9, 0.5], [0.4, 0.8]])
    earlier = values.copy()
    earlier[1, 0] = 0.6
    found = [chaudhry.forgetting(AccuracyMatrix(v), 2) for v in (values, earlier)]
    assert found == pytest.approx([0.5, 0.2])


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


@st.composite
def counted(draw):
    """Labels and predictions of K classes, every class at least once true."""
    K = draw(st.integers(2, 6))
    labels = st.integers(0, K - 1)
    pairs = draw(st.lists(st.tuples(labels, labels), max_size=30))
    pairs += [(c, draw(labels)) for c in range(K)]
    return K, pairs


@given(counted(), st.data())
def test_what_classes_are_called_changes_neither_pra_nor_f1(drawn, data):
    K, pairs = drawn
    names = data.draw(st.permutations(range(K)))
    renamed = [(names[t], names[p]) for t, p in pairs]
    one, other = (Counts.of(*zip(*each, strict=True), classes=K) for each in (pairs, renamed))
    tasks = [[0], list(range(1, K))]
    assert pra(one) == pra(other)
    own = [[names[c] for c in task] for task in tasks]
    assert task_f1(one, tasks).tolist() == task_f1(other, own).tolist()


@given(counted())
def test_a_mistake_more_lowers_pra(drawn):
    K, pairs = drawn
    counts = Counts.of(*zip(*pairs, strict=True), classes=K)
    assume(pra(counts) > 0)
    worse = Counts.of(*zip(*pairs, (0, 1), strict=True), classes=K)
    assert pra(worse) < pra(counts)


@given(fractions, fractions)
def test_forgetting_strength_is_a_difference_within_its_bounds(offline, score):
    strength = forgetting_strength(offline, score)
    assert strength == -forgetting_strength(score, offline)
    assert -1 <= strength <= 1
    assert (strength > 0) == (offline > score)


@given(R=matrices(), data=st.data())
def test_any_cells_can_be_read_and_a_missing_one_is_named(R, data):
    cell = st.tuples(st.integers(0, R.tasks), st.integers(1, R.tasks))
    cells = data.draw(st.lists(cell, min_size=1, max_size=5))
    rows, columns = zip(*cells, strict=True)
    assert R.measured(rows, columns).tolist() == [R.values[i, j - 1] for i, j in cells]
    assert R.mean(rows, columns) == pytest.approx(mean(R.values[i, j - 1] for i, j in cells))
    values = R.values.copy()
    i, j = data.draw(st.sampled_from(cells))
    values[i, j - 1] = math.nan
    with pytest.raises(NotMeasured, match=rf"R\[{i},{j}\] "):
        AccuracyMatrix(values).measured(rows, columns)
