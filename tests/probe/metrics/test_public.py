"""`probe.metrics` has every metric by one name, documented."""

import inspect
import re

import numpy as np
import pytest

from probe import metrics
from probe.errors import InputError
from probe.metrics.registry import registered


def test_each_metric_is_there_by_one_name():
    assert len(registered()) >= 31
    for metric in registered():
        assert getattr(metrics, metric.public) is metric.function
        assert dir(metrics).count(metric.public) == 1
    with pytest.raises(AttributeError, match="no attribute 'fwt'"):
        _ = metrics.fwt


@pytest.mark.parametrize("metric", registered(), ids=lambda metric: metric.public)
def test_each_says_formula_range_direction_and_source(metric):
    said = inspect.getdoc(metric.function) or ""
    module = inspect.getdoc(inspect.getmodule(metric.function)) or ""
    assert re.search(r"=|:", said), "a formula"
    assert re.search(r"in\s+\[-?\d|At least", said, re.I), "a range"
    assert re.search(r"higher|lower|better", said), "a direction"
    assert re.search(r"Source|eq\.", said + module), "a source"


@pytest.mark.parametrize("R", [[[1.0]], np.eye(3)])
def test_an_array_in_place_of_a_matrix_is_refused(R):
    for metric in ("gem_bwt", "forgetting", "omega_new", "deep_forgetting"):
        with pytest.raises(InputError, match=f"got {type(R).__name__}: use AccuracyMatrix.square"):
            getattr(metrics, metric)(R)
