"""GeppNet: sessions against a plain loop, novelty, rehearsal of all data, and what is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples, join
from probe.modules import mode
from probe.seeding import stream
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import load
from scenarios.learners.kemker.geppnet import Geppnet, GeppnetSettings, MapSettings
from scenarios.learners.kemker.geppnet_stm import GeppnetStm, GeppnetStmSettings
from scenarios.learners.kemker.online_map import OnlineMap
from scenarios.streams.task import Task
from tests.laws.counting import evaluate
from tests.laws.plain_map import sessions
from tests.scenarios.learners.tiny_learners import learn, learner, rows

TINY: dict[str, Any] = {
    "rows": 4,
    "columns": 6,
    "base_iterations": 400,
    "iterations": 150,
    "readout_rate": 0.03,
    "final_som_rate": 0.02,
}
KINDS: dict[str, tuple[type[Geppnet], MapSettings]] = {
    "geppnet": (Geppnet, GeppnetSettings(**TINY)),
    "geppnet_stm": (GeppnetStm, GeppnetStmSettings(**TINY, memory=30, sleep_interval=40)),
}


def make(
    kind: str, settings: MapSettings | None = None, dtype: torch.dtype = torch.float32
) -> Geppnet:
    """A learner of 8 x 8 images with a fresh network, always the same."""
    of, tiny = KINDS[kind]
    model = of.network(settings or tiny, (1, 8, 8), 10, 6)
    initialize(model, "murata", stream(0, "init"))
    return of(model.to(dtype), Recipe(epochs=2, batch_size=16), settings or tiny, 0)


def incremental(limit: int | None = None, dtype: torch.dtype = torch.float32) -> Sequence[Task]:
    """The digits: five classes first, then one by one."""
    data, tasks = load("digits"), []
    for k, classes in enumerate([(0, 1, 2, 3, 4), *((c,) for c in range(5, 10))]):
        own, test = data.train.of_classes(classes), data.test.of_classes(classes)
        train = Examples(own.x[:limit].to(dtype), own.y[:limit])
        tasks.append(Task(index=k + 1, name=str(k), classes=classes, train=train, test=test))
    return tasks


def accuracy(own: Any, tasks: Sequence[Task]) -> float:
    with mode(own.model, training=False):
        return evaluate(own.logits, join([t.test for t in tasks]), 10).accuracy(range(10))


def margins(own: Geppnet, x: Tensor, y: Tensor) -> Tensor:
    return trainer(own).margins(x.flatten(1), y)


def trainer(own: Geppnet) -> OnlineMap:
    som, output = own.model.children()
    return OnlineMap(som, output, 0.03, OpsMeter())


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_equal_a_plain_loop(kind: str) -> None:
    tasks, own = incremental(60, torch.float64)[:3], make(kind, dtype=torch.float64)
    plain = sessions(own.model, own.settings, tasks)
    state = learn(own, tasks).model.state_dict()
    assert state["som.prototypes"].numpy() == pytest.approx(plain.prototypes, abs=1e-9)
    assert state["output.weight"].numpy() == pytest.approx(plain.weight, abs=1e-9)
    assert state["output.bias"].numpy() == pytest.approx(plain.bias, abs=1e-9)


@pytest.mark.parametrize("first_rate", [0.01, 0.95])
@pytest.mark.parametrize("kind", KINDS)
def test_sessions_at_large_rates_equal_a_plain_loop(kind: str, first_rate: float) -> None:
    """All prototypes move by .95 of the way: in float32 30 such steps of one block lose them."""
    changes = {"som_rate": first_rate, "final_som_rate": 0.95, "final_radius": 1e3}
    if kind == "geppnet_stm":
        changes |= {"sleep_interval": 150, "memory": 60}
    settings = KINDS[kind][1].model_copy(update=changes)
    tasks, own = incremental(60)[:2], make(kind, settings)
    plain = sessions(own.model, settings, tasks)
    prototypes = learn(own, tasks).model.state_dict()["som.prototypes"]
    assert prototypes.numpy() == pytest.approx(plain.prototypes, abs=1e-3)


def test_old_and_new_examples_are_drawn_alike() -> None:
    tasks, own = incremental(50), make("geppnet")
    own.restore({}, tasks[:2])
    sizes = [len(task.train) for task in tasks[:3]]
    names = [task.train.x.flatten(1) for task in tasks[:3]]
    counts = [0, 0, 0]
    known = join([task.train for task in tasks])
    pairs = dict(zip(rows(known.x), known.y.tolist(), strict=True))
    for xs, ys in own.draws(tasks[2].train, 6000, 128):
        assert [pairs[x] for x in rows(xs)] == ys.tolist()
        for k, name in enumerate(names):
            counts[k] += int((torch.cdist(xs, name) == 0).any(1).sum())
    expected = torch.tensor([6000 * size / sum(sizes) for size in sizes])
    chi = ((torch.tensor(counts) - expected) ** 2 / expected).sum()
    assert sum(counts) == 6000
    assert chi < 13.8  # of 2 degrees of freedom: passed by chance in 999 of 1,000


@pytest.mark.parametrize("kind", KINDS)
def test_it_stores_everything(kind: str) -> None:
    own, stored = make(kind), 0
    assert own.stored_bytes() == 0
    memory = 30 * (64 * 4 + 8) if kind == "geppnet_stm" else 0
    for task in incremental(30)[:3]:
        cost = own.learn(task)
        assert cost.stored_bytes == stored
        stored += len(task.train) * (64 * 4 + 8) + memory
        memory = 0
        assert own.stored_bytes() == stored
        assert cost.kept_bytes == own.stored_bytes() + (24 * 64 + 10 * 24 + 10) * 4


def test_the_sizes_are_table_2_s() -> None:
    """Of 60,000, 5,994 and 28,779 training examples; labels of 4 bytes give the printed sizes."""
    for dims, classes, examples, printed in (
        (784, 10, 60_000, 190.08),
        (1280, 100, 28_779, 150.38),
    ):
        model = Geppnet.network(GeppnetSettings(), (dims,), classes, 2)
        weights = sum(p.numel() for p in model.parameters()) - classes  # no biases
        assert 4 * (weights + examples * (dims + 1)) / 1e6 == pytest.approx(printed, abs=0.011)


def test_what_is_spent_is_the_formula_s() -> None:
    tasks, own = incremental(60)[:2], make("geppnet")
    dims, units, classes = 64, 24, 10
    base = own.learn(tasks[0]).ops
    assert base == 2 * 400 * units * dims + 2 * 300 * units * classes
    later = own.learn(tasks[1]).ops
    novel, rest = divmod(later - 150 * units * (dims + classes), units * (dims + classes))
    assert (rest, 0 < novel < 150) == (0, True)


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_the_base_and_learns_where_fine_tuning_forgets(kind: str) -> None:
    tasks = incremental()
    changes = {"rows": 12, "columns": 12, "readout_rate": 0.01}
    changes |= {"base_iterations": 5000, "iterations": 1200}
    if kind == "geppnet_stm":
        changes["sleep_interval"] = 200
    own = make(kind, KINDS[kind][1].model_validate({"kind": kind, **changes}))
    own.learn(tasks[0])
    assert accuracy(own, tasks[:1]) > 0.95
    learn(own, tasks[1:])
    plain = learn(learner("finetune", recipe=Recipe(epochs=5, batch_size=16)), tasks)
    assert accuracy(plain, tasks[:1]) < 0.3
    assert accuracy(own, tasks[:1]) > 0.85
    assert accuracy(own, tasks) > 0.8


@pytest.mark.parametrize(
    ("change", "scale", "said"),
    [
        ({"readout_rate": 50.0, "base_iterations": 3000}, 1, r"read-out's .* readout_rate \(50\)"),
        ({"width": 1e-30}, 1, r"read-out's weights are not finite; .*raise width \(1e-30\)"),
        ({"final_radius": 1e-30}, 1, r"prototypes are not finite; raise final_radius \(1e-30\) or"),
        ({}, 1e30, "not finite; .* or scale the inputs down"),
    ],
)
def test_what_is_not_finite_is_said_and_what_can_be_changed(
    change: dict[str, float], scale: float, said: str
) -> None:
    first = incremental(60)[0]
    task = replace(first, train=Examples(first.train.x * scale, first.train.y))
    with pytest.raises(InputError, match=said):
        make("geppnet", GeppnetSettings(**{**TINY, **change})).learn(task)
    make("geppnet").learn(first)


def test_settings_not_given_are_the_supplement_s() -> None:
    own = GeppnetSettings()
    assert (own.rows, own.columns, own.som_rate, own.readout_rate) == (23, 23, 0.1, 1e-3)
    assert (own.threshold, own.base_iterations, own.iterations) == (0.5, 80_000, 20_000)
    for wrong in ({"training": {"epochs": 2}}, {"som_rate": 1.0}, {"alone": 0.0}, {"rows": 0}):
        with pytest.raises(ValidationError):
            GeppnetSettings.model_validate(wrong)
