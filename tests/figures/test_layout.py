"""Every figure in many shapes: its text neither overlaps, nor is cut off, nor hides the data."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from figures import bias, curves, depth, matrix, style
from probe.summary import summarise

NINE = ["finetune", "ewc", "si", "rwalk", "lwf", "gem", "icarl", "er", "cumulative", "offline"]
CNN3 = ["conv1", "conv2", "conv3", "output"]
LONG = ["stem", *(f"layer{k}.1.conv2" for k in range(1, 5)), "classifier"]
DENSE = [f"features.denseblock{k}.conv{k}" for k in range(1, 18)]

SHAPES = {
    "one learner, T=2, one seed": (["finetune", "offline"], CNN3, 2, 1),
    "three learners, T=5": (["finetune", "er", "offline"], CNN3, 5, 3),
    "nine learners, long names, T=10": (NINE, LONG, 10, 2),
    "own learners, many features, T=12": (["my_own_learner_with_samples", "er"], DENSE, 12, 2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [depth, bias, matrix, curves])
def test_no_text_is_lost(kind, shape, study, text_faults):
    learners, features, tasks, seeds = SHAPES[shape]
    rows = study(learners, features, tasks=tasks, orders=1, seeds=seeds)
    figure = kind.draw(rows if kind in (matrix, curves) else summarise(rows))
    assert text_faults(figure) == []
    assert figure.get_figwidth() <= style.DOUBLE + 1e-9


def test_a_fault_in_the_text_is_seen(text_faults):
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    figure.add_axes((0.5, 0.5, 0.4, 0.4))
    for x, y, words in [(0.1, 0.1, "first"), (0.12, 0.1, "second"), (0.97, 0.3, "outside")]:
        figure.text(x, y, words, size=8)
    figure.text(0.6, 0.6, "hiding", size=8)
    figure.text(0.1, 0.7, "tiny", size=5)
    assert text_faults(figure) == [
        "'tiny' is too small",
        "'outside' leaves the canvas",
        "'hiding' covers a panel",
        "'first' overlaps 'second'",
    ]


def test_slanted_texts_overlap_only_where_their_ink_does(text_faults):
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    for x in (0.2, 0.3, 0.305):
        figure.text(x, 0.2, f"a slanted label {x}", size=8, rotation=40)
    assert text_faults(figure) == ["'a slanted label 0.3' overlaps 'a slanted label 0.305'"]


@pytest.mark.parametrize("kind", [depth, bias, matrix, curves])
def test_a_study_of_offline_alone_has_nothing_to_draw(kind, study):
    rows = study(["offline"], CNN3)
    assert kind.draw(rows if kind in (matrix, curves) else summarise(rows)) is None
