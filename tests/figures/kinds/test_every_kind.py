"""Laws of every figure, in studies of many shapes."""

from contextlib import suppress
from functools import cache
from itertools import product

import pytest

from figures import style
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import draw_kinds, figure_of
from figures.tables import StudyTables
from probe.errors import InputError
from probe.tables.summary import summarize
from tests.figures import invented, papers, seen

BOUNDS = ["finetune", "cumulative"]
FOURTEEN = [
    *BOUNDS,
    "ewc",
    "ewc_online",
    "si",
    "rwalk",
    "lwf",
    "gem",
    "icarl",
    "icarl_hybrid1",
    "er",
    "finetune-s",
    "ewc-s",
    "si-s",
]
CNN3 = ["conv1", "conv2", "conv3", "output"]
LONG = ["stem", *(f"layer{k}.1.conv2" for k in range(1, 5)), "classifier"]
DENSE = [f"features.denseblock{k}.conv{k}" for k in range(1, 18)]
OWN = {
    "pathnet": ["layer1", "layer2", "layer3", "output"],
    "geppnet": ["som", "output"],
    "geppnet_stm": ["som", "output"],
    "fel": ["hidden", "fel", "output"],
}
SHAPES = {
    "one learner, T=2, one seed": (["finetune"], CNN3, 2, 1, "single"),
    "14 learners, long names, T=10": (FOURTEEN, LONG, 10, 2, "multi"),
    "own learners, many features, T=12": (
        ["my_own_learner_with_samples", "er"],
        DENSE,
        12,
        2,
        "",
    ),
    "networks of their own": (["finetune", "ewc", *OWN], LONG, 10, 3, "all"),
    "60 tasks": (["finetune", "er"], CNN3, 60, 2, "single"),
}
QUICK, *_, NETWORKS, _ = SHAPES
SOAK = pytest.mark.soak
MARKS = {QUICK: (), NETWORKS: pytest.mark.slow}
NEEDS = {name: figure_of(name).NEEDS for name in KINDS}
# These need sweeps: their own tests draw them in several shapes.
EXEMPLARS = {name for name in KINDS if NEEDS[name].startswith("a kind of method")}
COMPARING = {name for name in KINDS if NEEDS[name].startswith("two methods")}
PAIRS = []
for shape, name in product(SHAPES, sorted(set(KINDS) - EXEMPLARS)):
    # A panel for each layer of every network: a quarter of a minute.
    is_large = name == "bias" and shape == NETWORKS
    marks = SOAK if is_large else MARKS.get(shape, SOAK)
    PAIRS.append(pytest.param(shape, name, marks=marks))


@cache
def tables(shape):
    """Return the tables of a study of that shape."""
    learners, features, tasks, seeds, head = SHAPES[shape]
    return invented.study(
        learners,
        features,
        own=OWN,
        tasks=tasks,
        seeds=seeds,
        orders=1,
        head=head,
    )


def drawn(shape, name):
    """Return a figure of a study of that shape, None where there is nothing to draw."""
    with suppress(InputError):
        return draw_kinds([name], tables(shape), Options())[name][0]


def lines_above(figure):
    """Return the lines above all panels, from the top."""
    top = max(axes.get_position().y1 for axes in figure.axes)
    above = [text for text in figure.texts if text.get_position()[1] > top]
    return [
        text.get_text()
        for text in sorted(above, key=lambda text: -text.get_position()[1])
    ]


def fits(figure):
    return seen.text_faults(figure) == [] and seen.hidden_data(figure) == []


@pytest.mark.parametrize(("shape", "name"), PAIRS)
def test_no_text_is_lost_and_no_data_are_cut_off(shape, name):
    figure = drawn(shape, name)
    assert (figure is None) == (len(SHAPES[shape][0]) == 1 and name in COMPARING)
    assert figure is None or (
        fits(figure) and figure.get_figwidth() <= style.DOUBLE + 1e-9
    )


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_figure_fits_on_a_page_and_in_a_column_in_another_font(name):
    figure = papers.figure(name)
    assert fits(figure)
    question, study = lines_above(figure)
    assert question.endswith("?")
    assert study == "digits, cnn3, 2 orders, 2 seeds"
    long = {"mine": "Replay with a very long name (ours)"}
    asked = Options(
        width=3.25,
        font_size=10,
        font="serif",
        labels=long,
    )
    figure, caption = draw_kinds([name], papers.tables(), asked)[name]
    assert figure.get_figwidth() == 3.25
    assert fits(figure)
    assert (long["mine"] in caption) == (name not in EXEMPLARS)
    assert caption[0].isupper()
    assert "\n" not in caption
    assert ".." not in caption
    assert "Data: digits, cnn3, 2 orders, 2 seeds; orders are averaged" in caption
    assert "Method" in caption


def test_a_study_of_only_offline_and_empty_tables_have_nothing_to_draw():
    rows = invented.rows(["offline"], CNN3)
    learners = invented.kinds(["offline"])
    offline = StudyTables(
        measurements=rows,
        summary=summarize(rows),
        learners=learners,
    )
    for tables in (offline, StudyTables()):
        assert draw_kinds((), tables, Options()) == {}
