"""User-defined metrics: their numbers, a note for each that gives none, and new ones."""

from __future__ import annotations

from pathlib import Path

from probe.metrics.matrix import AccuracyMatrix
from probe.registered import OwnMetric
from probe.results.user_metrics import user_scores
from tests.scenarios.own_run import SOURCE, Own, folders, metrics, results

METRIC = '\n@probe.metric("mine")\ndef mine(R):\n    return 0.25\n'


def _fails(R: AccuracyMatrix) -> float:
    raise KeyError(len(R.values))


def test_a_metric_without_a_finite_number_has_a_note_and_the_others_their_value() -> None:
    each = {
        "worst": lambda R: R.values[-1].min(),
        "none": lambda _: float("nan"),
        "endless": lambda _: float("inf"),
        "fails": _fails,
        "words": lambda _: "much",
    }
    R = AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]])
    scores = user_scores(R, [OwnMetric(name=name, score=score) for name, score in each.items()])
    assert scores.values == {"worst": 0.25}
    assert [note.split()[2] for note in scores.notes] == ["none", "endless", "fails", "words"]
    assert scores.notes[2] == "the metric fails raised KeyError: 3"


def test_an_edited_metric_costs_new_tables_and_no_training(tmp_path: Path) -> None:
    own = Own(tmp_path).written(SOURCE + METRIC)
    few = {"seeds": 1, "learners": "finetune", "orders": "none"}
    before = results(root := own.run(**few))
    own.written(SOURCE + METRIC.replace("0.25", "0.5 + 0"))
    assert results(own.run(**few)) == before
    assert {row["mean"] for row in metrics(root) if row["metric"] == "mine"} == {"0.5"}
    own.written(SOURCE.replace("nn.ReLU()", "nn.ELU()") + METRIC)
    assert {len(each) for each in folders(own.run(**few)).values()} == {2}
