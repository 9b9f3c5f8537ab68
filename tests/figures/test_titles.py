"""The lines above a figure: its question, the study, and doubts about trainings."""

from dataclasses import replace

import pytest

import figures
from figures.kinds import KINDS
from figures.plotting import Drawing
from probe.analysis.statements import STUCK, UNFINISHED
from probe.notes import constant
from tests.figures import papers, seen
from tests.figures.invented import note

STUDY = "digits, cnn3, 2 orders, 2 seeds"


def lines(figure):
    """Return the lines above all panels, from the top."""
    top = max(axes.get_position().y1 for axes in figure.axes)
    found = [text for text in figure.texts if text.get_position()[1] > top]
    return [text.get_text() for text in sorted(found, key=lambda text: -text.get_position()[1])]


@pytest.mark.parametrize("name", KINDS)
def test_a_figure_answers_a_question_and_names_the_study(name):
    question, study = lines(papers.figure(name))
    assert question.endswith("?")
    assert study == STUDY
    figure = Drawing(name)(papers.tables(), title=False)
    assert not lines(figure)
    assert figure.get_figheight() < papers.figure(name).get_figheight()


NOTES = {
    "it collapsed: less than half as far above chance": "Collapsed: EWC (2 runs)",
    constant(3): "Collapsed: EWC (2 runs)",
    STUCK: "Collapsed: EWC (2 runs)",
    "its accuracy on all tasks is near chance: train": "Near chance: EWC (2 runs)",
    f"{UNFINISHED}: loss 2.1": "Not converged: EWC (2 runs)",
    "measured after 2 of 5 tasks": "",
}


@pytest.mark.parametrize("said", NOTES)
def test_a_doubtful_training_is_told_in_figure_and_caption(said):
    notes = [note("ewc", said, seed=seed) for seed in (0, 1)]
    doubted = replace(papers.tables(), notes=notes)
    drawn = figures.matrix(doubted)
    assert lines(drawn)[2:] == [NOTES[said]] * bool(NOTES[said])
    assert NOTES[said] in papers.caption("matrix", doubted)
    assert seen.text_faults(drawn) == []
    # Nothing is doubted where that learner is not drawn.
    assert len(lines(figures.matrix(doubted, learners=["mine"]))) == 2


def test_a_readout_that_has_not_converged_is_told_where_layers_are_drawn():
    notes = [note(name, f"{UNFINISHED}: loss 1", feature="conv1") for name in ("ewc", "untrained")]
    doubted = replace(papers.tables(), notes=notes)
    told = "Not converged downstream of conv1: EWC and Untrained (2 runs)"
    assert lines(figures.layers(doubted))[2] == told
    assert len(lines(figures.matrix(doubted))) == 2
