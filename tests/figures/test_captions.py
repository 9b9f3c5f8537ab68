"""Captions say what a reader of a paper has to know, in singular and in plural."""

from dataclasses import replace
from importlib import import_module

import pytest

from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import asked_for
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented, papers


def caption(name, tables):
    return import_module(f"figures.kinds.{name}").caption(tables)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_caption_names_data_network_orders_and_seeds(name):
    said = caption(name, papers.tables())
    assert "Data: digits, learned as 3 tasks, in 2 orders of tasks, by the network cnn3" in said
    assert "with 2 seeds; orders are averaged within a seed first." in said
    assert "Learner" in said
    assert "\n" not in said
    assert ".." not in said
    assert said[0].isupper()


ONE = {"orders": 1, "seeds": 1, "tasks": 2}


@pytest.fixture(scope="module")
def small():
    """Return the tables of one learner, one order and one seed."""
    rows = invented.rows(["ewc", "offline"], papers.FEATURES, **ONE)
    return Tables(
        rows=[*rows, *invented.courses(["ewc"], papers.FEATURES, steps=2, seeds=1, orders=1)],
        summary=summarize(rows),
        layers=invented.layers(["ewc"], papers.FEATURES, tasks=2, seeds=1),
        metrics=invented.metrics(["ewc", "si"], tasks=2, seeds=1),
        learners=[invented.learner("ewc"), invented.learner("si")],
        times=invented.times(["ewc", "si"], tasks=2, orders=1, seeds=1),
    )


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"memory", "sampling"}))
def test_of_one_there_is_no_plural_and_no_bar(name, small):
    said = caption(name, small)
    assert "in 1 order of tasks" in said
    assert "with 1 seed." in said
    for plural in ("1 seeds", "1 orders", "1 tasks", "deviation", "over seeds", "95 % interval"):
        assert plural not in said
    if name in ("depth", "bias", "layers", "curves", "matrix", "tasks", "time"):
        assert "Learner: EWC." in said


def test_bars_are_what_is_drawn():
    """Intervals where layers.csv has them, else deviations; bands and levels likewise."""
    whole = papers.tables()
    assert "bars and bands are 95 % intervals" in caption("depth", whole)
    assert "Ceiling:" in caption("depth", whole)
    assert "Floor:" in caption("depth", whole)
    plain = caption("depth", replace(whole, layers=(), starts=()))
    assert "bars are one standard deviation over seeds either way" in plain
    assert "Dashed line: a network trained on all tasks at once" in plain
    for absent in ("interval", "Floor", "ring"):
        assert absent not in plain
    assert "bars" not in caption("sessions", whole)


def test_a_caption_has_the_names_of_the_figure():
    asked = Options(learners=["mine", "ewc"], labels={"mine": "Replay (ours)"})
    _, said = asked_for("tradeoff", papers.tables(), asked)
    assert "Learners: Replay (ours) and EWC." in said
    money = [replace(row, learner="a$b") for row in papers.rows() if row.learner == "ewc"]
    _, said = asked_for("matrix", money, Options())
    assert "Learner: a$b." in said
