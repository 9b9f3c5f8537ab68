"""What holds for every figure, in studies of many shapes."""

from functools import cache
from importlib import import_module
from typing import get_type_hints

import pytest
from matplotlib.figure import Figure

from figures import build, style
from figures.kinds import KINDS
from figures.pages.page import Page
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented, seen

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
QUICK = ["one learner, T=2, one seed", "five learners, T=5"]
WEIGHTINGS = ["W1", "W2", "W3", "my_own_weights_of_the_criteria"]
NEEDS = {name: import_module(f"figures.kinds.{name}").NEEDS for name in KINDS}
# These need sweeps: their own tests draw them in several shapes.
EXEMPLARS = {name for name in KINDS if NEEDS[name].startswith("a kind of learner")}
COMPARING = {name for name in KINDS if NEEDS[name].startswith("two learners")}


@cache
def tables_of(shape):
    """Return the tables of a study of that shape."""
    learners, features, tasks, seeds, head = SHAPES[shape]
    rows = invented.rows(learners, features, tasks=tasks, orders=1, seeds=seeds, head=head, own=OWN)
    alone = [name for name in learners if name != "offline"]
    of = {"features": features, "own": OWN}
    both = {"readouts": ("retrain", "linear"), "seeds": seeds}
    courses = invented.courses(alone, steps=tasks, seeds=seeds, orders=1, **of)
    return Tables(
        rows=[*rows, *courses, *invented.levels(features, steps=tasks, seeds=seeds)],
        layers=invented.layers(alone, tasks=tasks, split=("linear",), **of, **both),
        starts=invented.starts(alone, features[1], **both),
        summary=summarize(rows),
        metrics=invented.metrics(alone, tasks=tasks, seeds=seeds, head=head, weightings=WEIGHTINGS),
        learners=[invented.learner(name) for name in learners],
        times=invented.times(learners, tasks=tasks, orders=1, seeds=seeds),
    )


@cache
def drawn(shape, name):
    """Return a figure of a study of that shape, which nobody may change."""
    return build.draw(tables_of(shape), [name])[name]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_draws_tables(name):
    hints = get_type_hints(import_module(f"figures.kinds.{name}").draw)
    assert hints == {"tables": Tables, "page": Page, "return": Figure | None}


def test_the_order_of_kinds_is_that_of_their_files_which_no_two_share():
    orders = [getattr(import_module(f"figures.kinds.{name}"), "ORDER", 1e9) for name in KINDS]
    assert orders == sorted(orders)
    assert list(KINDS)[:2] == ["depth", "layers"]


@pytest.mark.parametrize(
    "shape", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SHAPES]
)
@pytest.mark.parametrize("name", sorted(set(KINDS) - EXEMPLARS))
def test_no_text_is_lost_and_no_data_are_cut_off(shape, name):
    figure = drawn(shape, name)
    alone = len(set(SHAPES[shape][0]) - {"offline"}) == 1
    assert (figure is None) == (alone and name in COMPARING)
    if figure is not None:
        assert seen.text_faults(figure) == []
        assert seen.hidden_data(figure) == []
        assert figure.get_figwidth() <= style.DOUBLE + 1e-9


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_draws_no_other_tables_than_it_says(name, monkeypatch):
    """Of the others nothing is there, and none is looked at; the study has two sweeps."""
    pairs = [(k, how) for k in (10, 20) for how in ("uniform", "entropy")]
    names = [f"er-{k}-{how}" for k, how in pairs]
    learners = [
        invented.learner(name, "er", per_class=k, sampling=how)
        for name, (k, how) in zip(names, pairs, strict=True)
    ]
    rows = invented.rows([*names, "offline"], ["a", "b"], tasks=2, orders=1, seeds=1)
    given = {
        "rows": [*rows, *invented.courses(names, ["a", "b"], steps=2)],
        "layers": invented.layers(names, ["a", "b"], tasks=2),
        "starts": invented.starts(names, "b"),
        "summary": summarize(rows),
        "metrics": invented.metrics(names, tasks=2),
        "learners": learners,
        "times": invented.times(names, tasks=2),
    }
    tables = Tables(**{field: table for field, table in given.items() if field in KINDS[name]})
    looked_at = set()

    def look(self, field):
        looked_at.add(field)
        return object.__getattribute__(self, field)

    monkeypatch.setattr(Tables, "__getattribute__", look)
    monkeypatch.setattr("figures.layout.arrange", lambda figure: None)  # takes most of the time
    assert build.draw(tables, [name])[name] is not None
    assert looked_at & set(given) == set(KINDS[name])


def test_a_study_of_offline_alone_and_empty_tables_have_nothing_to_draw():
    rows = invented.rows(["offline"], CNN3)
    alone = Tables(rows=rows, summary=summarize(rows), learners=[invented.learner("offline")])
    for tables in (alone, Tables()):
        assert build.draw(tables) == dict.fromkeys(KINDS)


def test_one_seed_has_no_bars_and_says_so():
    for name in ("depth", "bias", "tradeoff", "scores"):
        figure = drawn("one learner, T=2, one seed", name)
        containers = [c for axes in figure.axes for c in axes.containers]
        assert containers
        assert not any(each.has_xerr or each.has_yerr for each in containers)
        assert seen.note(figure).startswith("One seed")


@pytest.mark.parametrize(
    "name", ["bias", "tasks", "sessions", "tradeoff", "spider", "scores", "costs"]
)
def test_learners_are_named_once_in_the_order_of_the_table(name):
    figure = drawn("five learners, T=5", name)
    assert seen.legend(figure) == ["Finetune", "Cumulative", "EWC", "SI", "ER"]


@pytest.mark.parametrize("name", ["depth", "bias", "tasks", "sessions", "costs"])
def test_panels_share_the_y_axis(name):
    assert len({axes.get_ylim() for axes in drawn("five learners, T=5", name).axes}) == 1


@pytest.mark.parametrize(
    ("shape", "head"), [(QUICK[0], ""), (QUICK[1], ", over all outputs")], ids=["single", "all"]
)
def test_what_depends_on_the_head_names_it_unless_it_is_the_usual_one(shape, head):
    figures = {name: figure for name in KINDS if (figure := drawn(shape, name))}
    for name in {"curves", "tasks", "sessions"} & set(figures):
        assert figures[name].get_supylabel() == f"Accuracy (%){head}"
    for name in {"tradeoff", "spider", "scores", "omegas"} & set(figures):
        assert seen.note(figures[name]).endswith(f"seeds{head}" if head else "One seed")
    assert figures["matrix"].axes[-1].get_xlabel() == f"Accuracy (%){head}"
    assert "output" not in seen.note(figures["depth"])
