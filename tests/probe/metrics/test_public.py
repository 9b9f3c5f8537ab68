"""`probe.metrics` has every metric by one name."""

import inspect

import numpy as np
import pandas as pd
import pytest
import torch

from probe import metrics
from probe.errors import NotMeasured
from probe.metrics.registry import registered
from probe.metrics.scorecard import scorecard


def test_each_metric_is_there_by_one_name():
    assert len(registered()) >= 31
    for metric in registered():
        assert getattr(metrics, metric.public) is metric.function
        assert dir(metrics).count(metric.public) == 1
    with pytest.raises(AttributeError, match="no attribute 'fwt'"):
        _ = metrics.fwt


ROWS = [
    [0.25, 0.5],
    [0.75, 0.25],
    [0.5, 1.0],
]
INPUTS = {
    "ideal": 0.9,
    "test_sizes": [10, 30],
    "reference": ROWS,
    "i": 2,
}
OF_R = [
    own
    for own in registered()
    if "AccuracyMatrix" in str(inspect.signature(own.function))
]


@pytest.mark.parametrize("metric", OF_R, ids=lambda metric: metric.public)
@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        np.array(ROWS),
        torch.tensor(ROWS),
        pd.DataFrame(ROWS),
    ],
)
def test_an_array_or_rows_give_what_a_matrix_gives(metric, given):
    named = inspect.signature(metric.function).parameters
    inputs = {name: value for name, value in INPUTS.items() if name in named}
    inputs |= {"A_star": given} if metric.public == "replay_gap" else {}
    (first, *_) = named
    expected = metric.function(metrics.AccuracyMatrix(np.array(ROWS)), **inputs)
    np.testing.assert_array_equal(metric.function(given, **inputs), expected)
    np.testing.assert_array_equal(metric.function(**{first: given}, **inputs), expected)


def test_a_square_array_has_no_row_before_training_and_counts_may_be_an_array():
    R = metrics.AccuracyMatrix.square(ROWS[1:])
    table = [[3, 1], [0, 2]]
    assert (
        metrics.gem_bwt(ROWS[1:])
        == metrics.gem_bwt(np.array(ROWS[1:]))
        == metrics.gem_bwt(R)
    )
    assert scorecard(ROWS[1:]) == scorecard(R)
    with pytest.raises(NotMeasured, match="before any training"):
        metrics.gem_fwt(ROWS[1:])
    assert (
        metrics.pra(table)
        == metrics.pra(np.array(table))
        == metrics.pra(metrics.Counts(table))
    )
