"""A user's own metrics: their numbers, and a note for each that gives none."""

import pytest

from probe.metrics.matrix import AccuracyMatrix
from probe.registered import OwnMetric
from scenarios.own_code import registered
from probe.results.user_metrics import own_scores
from tests.scenarios.own_run import SOURCE, Own, folders, results
from tests.scenarios.own_run import metrics as metrics_of


def _fails(R):
    raise KeyError(len(R.values))


@pytest.fixture
def metrics():
    each = {
        "worst": lambda R: R.values[-1].min(),
        "none": lambda _: float("nan"),
        "endless": lambda _: float("inf"),
        "fails": _fails,
        "words": lambda _: "much",
    }
    own = [OwnMetric(name=name, score=score) for name, score in each.items()]
    with registered(own, "", {}):
        yield


@pytest.mark.usefixtures("metrics")
def test_what_gives_no_finite_number_has_a_note_and_the_others_their_value():
    found = own_scores(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]))
    assert found.values == {"worst": 0.25}
    assert [note.split()[2] for note in found.notes] == ["none", "endless", "fails", "words"]
    assert found.notes[2] == "the metric fails raised KeyError: 3"


def test_without_any_nothing_is_said():
    found = own_scores(AccuracyMatrix.square([[1.0]]))
    assert (found.values, found.notes) == ({}, ())


METRIC = '\n@probe.metric("mine")\ndef mine(R):\n    return 0.25\n'


def test_an_edited_metric_costs_new_tables_and_no_training(tmp_path):
    own = Own(tmp_path).written(SOURCE + METRIC)
    few = {"seeds": 1, "learners": "finetune", "orders": "none"}
    before = results(root := own.run(**few))
    own.written(SOURCE + METRIC.replace("0.25", "0.5 + 0"))
    assert results(own.run(**few)) == before
    assert {row["mean"] for row in metrics_of(root) if row["metric"] == "mine"} == {"0.5"}
    own.written(SOURCE.replace("nn.ReLU()", "nn.ELU()") + METRIC)
    assert {len(each) for each in folders(own.run(**few)).values()} == {2}
