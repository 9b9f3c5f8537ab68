"""User-defined readouts and metrics of a study: one class or function in a file."""

import math
import re
import sys

import pytest

from probe.extensions import MetricEntry
from probe.metrics.matrix import AccuracyMatrix
from probe.results.scores import user_scores
from tests.scenarios.own_run import SOURCE as NETWORK, Own, folders, metrics, results


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


METRIC = '\n@probe.metric("mine")\ndef mine(R):\n    return 0.25\n'


def test_an_edited_metric_costs_new_tables_and_no_training(tmp_path):
    own = Own(tmp_path).written(NETWORK + METRIC)
    few = {"seeds": 1, "learners": "finetune", "orders": "none"}
    before = results(root := own.run(**few))
    own.written(NETWORK + METRIC.replace("0.25", "0.5 + 0"))
    assert results(own.run(**few)) == before
    rows = [row for row in metrics(root) if row["metric"] == "mine"]
    assert {row["mean"] for row in rows} == {"0.5"}
    assert {row["feature"] for row in rows} > {
        ""
    }  # of R, and of the matrix of each feature
    own.written(NETWORK.replace("nn.ReLU()", "nn.ELU()") + METRIC)
    assert {len(each) for each in folders(own.run(**few)).values()} == {2}
