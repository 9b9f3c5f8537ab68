"""Doubts about trainings in the captions of figures."""

from dataclasses import replace

import pytest

from figures.captions import doubts
from probe.analysis.statements import STUCK
from probe.notes import constant
from probe.readouts.linear import UNFINISHED
from tests.figures import papers
from tests.figures.invented import note, notes as notes_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "it collapsed: less than half as far above chance",
            ["Collapsed: EWC (2 runs)"],
        ),
        (constant(3), ["Collapsed: EWC (2 runs)"]),
        (STUCK, ["Collapsed: EWC (2 runs)"]),
        (
            "its accuracy on all tasks is near chance: train",
            ["Near chance: EWC (2 runs)"],
        ),
        # A retraining states what it reaches within its epochs.
        ("its training has not converged: loss 2.1", []),
        ("measured after 2 of 5 tasks", []),
    ],
)
def test_notes_on_trainings_are_doubts_about_the_learners_that_are_drawn(
    text, sentences
):
    notes = notes_of(note("ewc", text), note("ewc", text))
    for runs in ({"seed": [0, 1]}, {"order": ["a", "b"]}):
        assert doubts(notes.assign(**runs), {"ewc": "EWC"}) == sentences
    assert doubts(notes, {"er": "ER"}) == []


def test_a_doubt_about_a_readout_is_one_about_figures_of_layers_that_draw_it():
    text = f"{UNFINISHED}: loss 1"
    notes = notes_of(
        *(
            note(k, text, feature="conv1", readout="linear")
            for k in ("ewc", "untrained")
        )
    )
    sentences = ["Not converged downstream of conv1: EWC and Untrained (2 runs)"]
    assert doubts(notes, {"ewc": "EWC"}, ["linear"]) == sentences
    assert (
        doubts(notes, {"ewc": "EWC"}, ["retrain"])
        == doubts(notes, {"ewc": "EWC"})
        == []
    )
    # These choose their readout themselves.
    readouts = {"time": "linear", "depth": "retrain", "budget": "retrain"}
    for name, readout in readouts.items():
        for of in ("linear", "retrain"):
            row = note(
                "ewc",
                f"{UNFINISHED}: loss 1",
                feature="conv1",
                readout=of,
            )
            said = papers.caption(name, replace(papers.tables(), notes=notes_of(row)))
            assert ("Not converged" in said) == (of == readout)
