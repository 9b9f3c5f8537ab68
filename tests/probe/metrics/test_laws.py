"""Laws of the matrix metrics: plain double loops, the cells each one uses, bounds, invariances."""

import math
import re
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from probe.errors import NotMeasured
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.scorecard import METRICS, value_of
from probe.metrics.serra import forgetting_ratio

IDEAL = 0.75


def upto(k):
    return range(1, k + 1)


def pairs(T):
    return [(i, j) for i in upto(T) for j in range(1, i)]


def transfer(R, T):
    return mean(R(i, j) - R(j, j) for i, j in pairs(T))


def J(i, j):  # noqa: N802, as the literature has it
    """Return the accuracy of the reference, whose cells all differ."""
    return 0.7 + 0.01 * i + 0.003 * j


def weighted(R, k):
    """Return the accuracy on tasks 1..k, of which task j has j test examples."""
    return sum(j * R(k, j) for j in upto(k)) / sum(upto(k))


# Metrics by plain loops over R(i, j) after k tasks, all T where they have no k.
LOOPS = {
    "gem.acc": lambda R, k: mean(R(k, j) for j in upto(k)),
    "gem.bwt": lambda R, k: mean(R(k, j) - R(j, j) for j in range(1, k)),
    "gem.fwt": lambda R, k: mean(R(j - 1, j) - R(0, j) for j in range(2, k + 1)),
    "diaz_rodriguez.accuracy": lambda R, k: mean(
        R(i, j) for i in upto(k) for j in upto(i)
    ),
    "diaz_rodriguez.bwt": transfer,
    "diaz_rodriguez.rem": lambda R, k: 1 - abs(min(transfer(R, k), 0)),
    "diaz_rodriguez.bwt_plus": lambda R, k: max(transfer(R, k), 0),
    "diaz_rodriguez.fwt": lambda R, k: mean(R(j, i) for i, j in pairs(k)),
    "chaudhry.average_accuracy": lambda R, k: mean(R(k, j) for j in upto(k)),
    "chaudhry.forgetting": lambda R, k: mean(
        max(R(i, j) for i in range(1, k)) - R(k, j) for j in range(1, k)
    ),
    "chaudhry.forgetting_since_learned": lambda R, k: mean(
        max(R(i, j) for i in range(j, k)) - R(k, j) for j in range(1, k)
    ),
    "chaudhry.expected_forgetting": lambda R, k: mean(
        mean(R(i, j) for i in range(1, k)) - R(k, j) for j in range(1, k)
    ),
    "serra.forgetting_ratio": lambda R, k: mean(
        (R(k, j) - R(0, j)) / (J(k, j) - R(0, j)) - 1 for j in upto(k)
    ),
    "hayes.omega": lambda R, k: mean(weighted(R, i) / weighted(J, i) for i in upto(k)),
    "icarl.average_incremental_accuracy": lambda R, k: mean(
        mean(R(i, j) for j in upto(i)) for i in upto(k)
    ),
    "zscl.transfer": lambda R, k: mean(
        mean(R(i, j) for i in range(1, j)) for j in upto(k)[1:]
    ),
    "chaudhry.intransigence": lambda R, k: J(k, k) - R(k, k),
    "kemker.alpha_base": lambda R, k: R(k, 1),
    "kemker.alpha_new": lambda R, k: R(k, k),
    "kemker.alpha_all": weighted,
    "kemker.omega_base": lambda R, k: mean(R(i, 1) / IDEAL for i in upto(k)[1:]),
    "kemker.omega_new": lambda R, k: mean(R(i, i) for i in upto(k)[1:]),
    "kemker.omega_all": lambda R, k: mean(weighted(R, i) / IDEAL for i in upto(k)[1:]),
}
BY_NAME = {f"{metric.paper}.{metric.name}": metric for metric in METRICS}

each_metric = pytest.mark.parametrize("name", BY_NAME)


def value(
    name,
    table,
    k,
):
    """Return a metric of the table as the scorecard computes it, after k tasks or all."""
    R = AccuracyMatrix(table)
    sizes = list(upto(R.tasks))
    square = [[J(i, j) for j in sizes] for i in sizes]
    inputs = {
        "reference": AccuracyMatrix.square(square),
        "ideal": IDEAL,
        "test_sizes": sizes,
    }
    return value_of(BY_NAME[name], R, inputs, k)


def outcome(
    name,
    table,
    k,
):
    """Return a metric, or the reason why it is not measured."""
    try:
        return value(name, table, k)
    except NotMeasured as reason:
        return str(reason)


def drawn(
    data,
    name,
    T,
):
    """Return T, but any k >= 2 for a metric that is defined after each task."""
    return data.draw(st.integers(2, T)) if BY_NAME[name].after else T


def tables(low=0.0, high=1.0):
    """(T+1, T) tables of accuracies, T from 2 to 6."""
    return st.integers(2, 6).flatmap(
        lambda T: arrays(
            np.float64, (T + 1, T), elements=st.floats(low, high, width=32)
        )
    )


def cells_of(table, read):
    """Return R(i, j), with tasks j from 1, which adds each cell that is read to a set."""

    def R(i, j):  # noqa: N802, as the literature has it
        read.add((i, j))
        return float(table[i, j - 1])

    return R


def bounds(name):
    """Return the bounds that the docstring of a metric declares."""
    said = BY_NAME[name].function.__doc__
    if declared := re.search(r"[Ii]n\s+\[(-?\d+), (\d+)\]", said):
        return float(declared[1]), float(declared[2])
    if "Any number" in said:
        return -math.inf, math.inf
    assert "At least 0" in said, (
        f"{name}: say in the docstring: In [LOW, HIGH], or At least 0"
    )
    return 0.0, math.inf


@each_metric
@given(table=tables(), data=st.data())
def test_metric_keeps_its_bounds_and_agrees_with_plain_loops(
    name,
    table,
    data,
):
    low, high = bounds(name)
    k = drawn(data, name, table.shape[1])
    table[0] /= 2  # below the reference
    found = value(name, table, k)
    assert math.isfinite(found)
    assert low - 1e-12 <= found <= high + 1e-12
    if name in LOOPS:
        assert found == pytest.approx(LOOPS[name](cells_of(table, set()), k), abs=1e-12)


@each_metric
@pytest.mark.parametrize("k", [2, 4])
def test_a_missing_cell_is_named_where_it_is_used_and_ignored_where_not(name, k):
    T = 4 if BY_NAME[name].after else k
    table = np.random.default_rng(0).random((T + 1, T)) * 0.7
    whole = value(name, table, k)
    used = set()
    for (i, column), _ in np.ndenumerate(table):
        holed = table.copy()
        holed[i, column] = np.nan
        if (found := outcome(name, holed, k)) != whole:
            assert f"R[{i},{column + 1}]" in str(found)
            used.add((i, column + 1))
    assert used
    if name in LOOPS:
        LOOPS[name](cells_of(table, read := set()), k)
        assert used == read


def test_a_reference_above_chance_by_rounding_alone_gives_no_ratio():
    """Means over classes of the same accuracies differ in the last bit."""
    R = AccuracyMatrix([[0.1 + 0.2], [0.5]])
    reference = AccuracyMatrix([[0.3], [np.nextafter(0.1 + 0.2, 1)]])
    with pytest.raises(NotMeasured, match="task 1"):
        forgetting_ratio(R, reference)
