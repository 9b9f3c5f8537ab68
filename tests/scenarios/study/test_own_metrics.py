"""A user's own metrics: their numbers, and a note for each that gives none."""

import pytest

from probe.metrics.matrix import AccuracyMatrix
from probe.registered import OwnMetric
from scenarios.own_code import registered
from probe.results.user_metrics import own_scores


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
