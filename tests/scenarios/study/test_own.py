"""User-defined readouts and metrics of a study: one class or function in a file."""

import math
import re
import sys

import pytest

from probe.extensions import MetricEntry
from probe.metrics.matrix import AccuracyMatrix
from probe.results.scores import user_scores
from tests.scenarios.own_run import SOURCE as NETWORK, Own, metrics


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


def mute(R):
    raise Mute


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (
            lambda R: sys.exit(0),
            r"test_own\.py, line \d+, ends the process \(SystemExit: 0\)",
        ),
        (lambda R: -3e16, r"gave -3e\+16, expected a number of 5e\+14 at most"),
        (lambda R: math.nan, "gave nan"),
        (mute, "raised Mute"),
    ],
)
def test_a_metric_that_gives_no_number_is_noted_and_the_others_are_there(score, said):
    metrics = [
        MetricEntry(name="bad", score=score),
        MetricEntry(name="good", score=lambda R: 1.0),
    ]
    values, [note] = user_scores(AccuracyMatrix([[0.5], [1.0]]), metrics)
    assert values == {"good": 1.0}
    assert re.search(f"the metric bad .*{said}", note)


METRIC = '\n@probe.metric("mine")\ndef mine(R):\n    return {}\n'


def test_a_metric_is_of_every_matrix_as_its_file_is_now(tmp_path):
    """Of R, and of the matrix of each feature."""
    own = Own(tmp_path)
    few = {"seeds": 1, "learners": "finetune", "orders": "none"}
    for value in ("0.25", "0.5"):
        own.written(NETWORK + METRIC.format(value))
        rows = [row for row in metrics(own.run(**few)) if row["metric"] == "mine"]
        assert {row["mean"] for row in rows} == {value}
        assert {row["feature"] for row in rows} > {""}
