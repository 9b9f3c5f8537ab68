"""Laws of the matrix metrics: plain double loops, the cells each one uses, bounds, invariances."""

from dataclasses import dataclass
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from probe.errors import NotMeasured
from probe.metrics import chaudhry, diaz_rodriguez, gem, kemker
from probe.metrics.matrix import AccuracyMatrix

IDEAL = 0.75


@dataclass(frozen=True)
class Law:
    """A metric, the same by plain loops over R[i][j], T, and the bounds of its value."""

    metric: object
    loops: object
    bounds: tuple[float, float]


def sessions(T):
    return range(2, T + 1)


def pairs(T):
    return [(i, j) for i in range(1, T + 1) for j in range(1, i)]


def past_best(R, k, j):
    return max(R[i][j] for i in range(1, k))


LAWS = {
    "gem.acc": Law(
        gem.acc,
        lambda R, T: mean(R[T][j] for j in range(1, T + 1)),
        (0, 1),
    ),
    "gem.bwt": Law(
        gem.bwt,
        lambda R, T: mean(R[T][j] - R[j][j] for j in range(1, T)),
        (-1, 1),
    ),
    "gem.fwt": Law(
        gem.fwt,
        lambda R, T: mean(R[j - 1][j] - R[0][j] for j in sessions(T)),
        (-1, 1),
    ),
    "diaz_rodriguez.accuracy": Law(
        diaz_rodriguez.accuracy,
        lambda R, T: mean(R[i][j] for i in range(1, T + 1) for j in range(1, i + 1)),
        (0, 1),
    ),
    "diaz_rodriguez.bwt": Law(
        diaz_rodriguez.bwt,
        lambda R, T: mean(R[i][j] - R[j][j] for i, j in pairs(T)),
        (-1, 1),
    ),
    "diaz_rodriguez.rem": Law(
        diaz_rodriguez.rem,
        lambda R, T: 1 - abs(min(mean(R[i][j] - R[j][j] for i, j in pairs(T)), 0)),
        (0, 1),
    ),
    "diaz_rodriguez.bwt_plus": Law(
        diaz_rodriguez.bwt_plus,
        lambda R, T: max(mean(R[i][j] - R[j][j] for i, j in pairs(T)), 0),
        (0, 1),
    ),
    "diaz_rodriguez.fwt": Law(
        diaz_rodriguez.fwt,
        lambda R, T: mean(R[j][i] for i, j in pairs(T)),
        (0, 1),
    ),
    "chaudhry.average_accuracy": Law(
        lambda R: chaudhry.average_accuracy(R, R.tasks),
        lambda R, T: mean(R[T][j] for j in range(1, T + 1)),
        (0, 1),
    ),
    "chaudhry.average_accuracy, k = 2": Law(
        lambda R: chaudhry.average_accuracy(R, 2),
        lambda R, T: (R[2][1] + R[2][2]) / 2,
        (0, 1),
    ),
    "chaudhry.forgetting": Law(
        lambda R: chaudhry.forgetting(R, R.tasks),
        lambda R, T: mean(past_best(R, T, j) - R[T][j] for j in range(1, T)),
        (-1, 1),
    ),
    "chaudhry.intransigence, k = 2": Law(
        lambda R: chaudhry.intransigence(R, np.full(R.tasks, IDEAL), 2),
        lambda R, T: IDEAL - R[2][2],
        (-1, 1),
    ),
    "kemker.alpha_base": Law(
        lambda R: kemker.alpha_base(R, R.tasks),
        lambda R, T: R[T][1],
        (0, 1),
    ),
    "kemker.alpha_new": Law(
        lambda R: kemker.alpha_new(R, R.tasks),
        lambda R, T: R[T][T],
        (0, 1),
    ),
    "kemker.alpha_all": Law(
        lambda R: kemker.alpha_all(R, R.tasks, range(1, R.tasks + 1)),
        lambda R, T: sum(j * R[T][j] for j in range(1, T + 1)) / sum(range(1, T + 1)),
        (0, 1),
    ),
    "kemker.omega_base": Law(
        lambda R: kemker.omega_base(R, IDEAL),
        lambda R, T: mean(R[i][1] / IDEAL for i in sessions(T)),
        (0, 1 / IDEAL),
    ),
    "kemker.omega_new": Law(
        kemker.omega_new,
        lambda R, T: mean(R[i][i] for i in sessions(T)),
        (0, 1),
    ),
    "kemker.omega_all": Law(
        lambda R: kemker.omega_all(R, IDEAL, range(1, R.tasks + 1)),
        lambda R, T: mean(
            sum(j * R[i][j] for j in range(1, i + 1)) / sum(range(1, i + 1)) / IDEAL
            for i in sessions(T)
        ),
        (0, 1 / IDEAL),
    ),
}

each_metric = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def tables(low=0.0, high=1.0):
    """(T+1, T) tables of accuracies, T from 2 to 6."""
    return st.integers(2, 6).flatmap(
        lambda T: arrays(np.float64, (T + 1, T), elements=st.floats(low, high, width=32))
    )


class Reads:
    """R[i][j] with 1-based columns that records which cells were read."""

    def __init__(self, table):
        self.table, self.cells = table, set()

    def __getitem__(self, i):
        return _Row(self, i)


@dataclass
class _Row:
    reads: Reads
    i: int

    def __getitem__(self, j):
        self.reads.cells.add((self.i, j))
        return float(self.reads.table[self.i, j - 1])


@each_metric
@given(table=tables())
def test_metric_agrees_with_plain_loops_and_keeps_its_bounds(law, table):
    value = law.metric(AccuracyMatrix(table))
    assert value == pytest.approx(law.loops(Reads(table), table.shape[1]), abs=1e-12)
    low, high = law.bounds
    assert low - 1e-12 <= value <= high + 1e-12


@each_metric
def test_a_missing_cell_is_named_where_it_is_used_and_ignored_where_not(law):
    T = 4
    table = np.random.default_rng(0).random((T + 1, T))
    reads = Reads(table)
    law.loops(reads, T)
    assert reads.cells
    whole = law.metric(AccuracyMatrix(table))
    for i in range(T + 1):
        for j in range(1, T + 1):
            holed = table.copy()
            holed[i, j - 1] = np.nan
            if (i, j) in reads.cells:
                with pytest.raises(NotMeasured, match=rf"R\[{i},{j}\]"):
                    law.metric(AccuracyMatrix(holed))
            else:
                assert law.metric(AccuracyMatrix(holed)) == whole


@given(table=tables())
def test_rem_and_bwt_plus_split_backward_transfer(table):
    R = AccuracyMatrix(table)
    together = diaz_rodriguez.rem(R) + diaz_rodriguez.bwt_plus(R)
    assert together == pytest.approx(1 + diaz_rodriguez.bwt(R))


@given(table=tables())
def test_diaz_accuracy_is_the_mean_of_chaudhrys_weighted_by_tasks_learned(table):
    R = AccuracyMatrix(table)
    k = np.arange(1, R.tasks + 1)
    each = [chaudhry.average_accuracy(R, i) for i in k]
    assert diaz_rodriguez.accuracy(R) == pytest.approx(np.average(each, weights=k))


@given(table=tables())
def test_forgetting_is_at_least_what_was_lost_since_each_task_was_learned(table):
    R = AccuracyMatrix(table)
    assert chaudhry.forgetting(R, R.tasks) >= -gem.bwt(R) - 1e-12


@given(table=arrays(np.float64, (3, 2), elements=st.floats(0, 1)))
def test_with_two_tasks_the_papers_agree_on_backward_transfer(table):
    R = AccuracyMatrix(table)
    assert gem.bwt(R) == pytest.approx(diaz_rodriguez.bwt(R))
    assert gem.bwt(R) == pytest.approx(-chaudhry.forgetting(R, 2))


@given(table=tables(0, 0.5), data=st.data())
def test_differences_do_not_change_when_a_task_is_easier_throughout(table, data):
    shift = data.draw(arrays(np.float64, table.shape[1], elements=st.floats(0, 0.5)))
    R, easier = AccuracyMatrix(table), AccuracyMatrix(table + shift)
    for difference in (gem.bwt, gem.fwt, diaz_rodriguez.bwt):
        assert difference(easier) == pytest.approx(difference(R), abs=1e-12)
    T = R.tasks
    assert chaudhry.forgetting(easier, T) == pytest.approx(chaudhry.forgetting(R, T), abs=1e-12)
    assert gem.acc(easier) == pytest.approx(gem.acc(R) + shift.mean())


@given(table=tables(), data=st.data())
def test_average_accuracy_does_not_depend_on_the_order_of_tasks(table, data):
    order = data.draw(st.permutations(range(table.shape[1])))
    assert gem.acc(AccuracyMatrix(table[:, order])) == pytest.approx(gem.acc(AccuracyMatrix(table)))


def test_backward_transfer_depends_on_the_order_of_tasks():
    R = AccuracyMatrix.square([[1.0, 0.5], [0.5, 0.5]])
    swapped = AccuracyMatrix.square(R.values[1:, ::-1])
    assert (gem.bwt(R), gem.bwt(swapped)) == (-0.5, 0)


@given(table=tables(), scale=st.floats(0.1, 1))
def test_omega_base_and_all_are_relative_to_the_ideal(table, scale):
    R, scaled = AccuracyMatrix(table), AccuracyMatrix(table * scale)
    for omega in (kemker.omega_base, kemker.omega_all):
        assert omega(scaled, IDEAL * scale) == pytest.approx(omega(R, IDEAL))
    assert kemker.omega_new(scaled) == pytest.approx(scale * kemker.omega_new(R))


@given(table=tables(), size=st.integers(1, 10_000))
def test_omega_all_depends_on_the_ratio_of_test_sizes_alone(table, size):
    R = AccuracyMatrix(table)
    equal = kemker.omega_all(R, IDEAL, [size] * R.tasks)
    assert equal == pytest.approx(kemker.omega_all(R, IDEAL))
