"""Every figure in many shapes: its text neither overlaps, nor is cut off, nor hides the data."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from figures import build, style
from probe.tables.summary import summarize

BOUNDS = ["finetune", "cumulative"]
FOURTEEN = [
    *BOUNDS,
    *("ewc", "ewc_online", "si", "rwalk", "lwf", "gem", "icarl", "icarl_hybrid1", "er"),
    *("finetune-s", "ewc-s", "si-s"),
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
    "one learner, T=2, one seed": (["finetune", "offline"], CNN3, 2, 1, "single"),
    "five learners, T=5": ([*BOUNDS, "ewc", "si", "er", "offline"], CNN3, 5, 3, "all"),
    "14 learners, long names, T=10": ([*FOURTEEN, "offline"], LONG, 10, 2, "multi"),
    "own learners, many features, T=12": (["my_own_learner_with_samples", "er"], DENSE, 12, 2, ""),
    "networks of their own": (["finetune", "ewc", *OWN, "offline"], LONG, 10, 3, "multi"),
    "one of them alone": (["finetune", "cumulative", "geppnet", "offline"], CNN3, 2, 1, ""),
}
WEIGHTINGS = ["W1", "W2", "W3", "my_own_weights_of_the_criteria"]


@pytest.fixture(params=SHAPES, scope="module")
def shape(request):
    return SHAPES[request.param]


@pytest.fixture(scope="module")
def figures(shape, study, scored, storing, timed):
    learners, features, tasks, seeds, head = shape
    rows = study(learners, features, tasks=tasks, orders=1, seeds=seeds, head=head, own=OWN)
    continual = [name for name in learners if name != "offline"]
    metrics = scored(continual, tasks=tasks, seeds=seeds, head=head, weightings=WEIGHTINGS)
    times = timed(learners, tasks=tasks, orders=1, seeds=seeds)
    return build.draw(rows, summarize(rows), metrics, [storing(name) for name in learners], times)


COMPARING = ["sessions", "omegas", "costs"]
DRAWN = [
    *("depth", "bias", "matrix", "curves", "tasks"),
    *COMPARING,
    *("tradeoff", "spider", "scores"),
]


def test_a_learner_alone_is_not_compared(shape, figures):
    missing = {name for name, figure in figures.items() if figure is None}
    alone = len(set(shape[0]) - {"offline"}) == 1
    assert missing == {"memory", "sampling", *(COMPARING if alone else [])}


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_is_lost(name, figures, text_faults):
    assert figures[name] is None or text_faults(figures[name]) == []


@pytest.mark.parametrize("name", DRAWN)
def test_no_data_are_cut_off(name, figures, hidden_data):
    if figures[name] is not None:
        assert hidden_data(figures[name]) == []
        assert figures[name].get_figwidth() <= style.DOUBLE + 1e-9


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


def test_a_text_in_a_panel_may_not_reach_into_the_next(text_faults):
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    left, _ = figure.subplots(1, 2, subplot_kw={"xticks": [], "yticks": []})
    left.text(0.5, 0.5, "at home", size=8, transform=left.transAxes)
    assert text_faults(figure) == []
    left.text(0.5, 0.8, "far too long a text for this panel", size=8, transform=left.transAxes)
    assert "'far too long a text for this panel' covers a panel" in text_faults(figure)


@pytest.mark.parametrize(
    ("limits", "faults"), [((0, 3), []), ((0, 1.9), ["panel 1 cuts off data"])]
)
def test_cut_off_bars_are_seen(limits, faults, hidden_data):
    figure = Figure()
    axes = figure.add_subplot(ylim=limits)
    axes.errorbar([0, 1], [1, 1], yerr=[0.5, 1])
    assert hidden_data(figure) == faults


def test_a_study_of_offline_alone_has_nothing_to_draw(study, storing):
    rows = study(["offline"], CNN3)
    drawn = build.draw(rows, summarize(rows), [], [storing("offline")])
    assert set(drawn.values()) == {None}
    assert list(drawn) == [*DRAWN[:9], "memory", "sampling", *DRAWN[9:]]
