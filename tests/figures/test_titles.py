"""The lines above a figure, its question and the study; doubts about trainings in its caption."""

from dataclasses import replace

import pytest

from figures.captions import doubts
from figures.kinds import KINDS
from probe.analysis.statements import STUCK
from probe.notes import constant
from probe.readouts.linear import UNFINISHED
from tests.figures import papers
from tests.figures.invented import note, notes as notes_of


def lines(figure):
    """Return the lines above all panels, from the top."""
    top = max(axes.get_position().y1 for axes in figure.axes)
    above = [text for text in figure.texts if text.get_position()[1] > top]
    return [
        text.get_text()
        for text in sorted(above, key=lambda text: -text.get_position()[1])
    ]


@pytest.mark.parametrize("name", KINDS)
def test_a_figure_answers_a_question_and_names_the_study(name):
    question, study = lines(papers.figure(name))
    assert question.endswith("?")
    assert study == "digits, cnn3, 2 orders, 2 seeds"


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
    notes = notes_of(*(note("ewc", text, seed=seed) for seed in (0, 1)))
    assert doubts(notes, {"ewc": "EWC"}) == sentences
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
    # These two choose their readout themselves.
    for name, readout in (("time", "linear"), ("depth", "retrain")):
        for of in ("linear", "retrain"):
            row = note(
                "ewc",
                f"{UNFINISHED}: loss 1",
                feature="conv1",
                readout=of,
            )
            said = papers.caption(name, replace(papers.tables(), notes=notes_of(row)))
            assert ("Not converged" in said) == (of == readout)


@pytest.mark.parametrize(("name", "at"), [("tradeoff", ""), ("budget", "conv1")])
def test_a_collapsed_or_unfinished_training_is_flagged_in_the_caption(name, at):
    notes = notes_of(
        note(
            "ewc",
            STUCK,
            feature=at,
            readout=at and "retrain",
        )
    )
    sentence = f"Collapsed{' downstream of conv1' * bool(at)}: EWC (1 run)"
    assert sentence in papers.caption(name, replace(papers.tables(), notes=notes))


@pytest.mark.parametrize("name", ["memory", "sampling"])
def test_a_figure_of_kinds_of_learners_flags_each_learner_of_a_kind(name):
    notes = notes_of(*(note(f"er{size}-uniform", STUCK) for size in (10, 20)))
    assert "Collapsed: ER (2 runs)" in papers.caption(
        name, replace(papers.tables(), notes=notes)
    )
