"""GeppNet and GeppNet+STM: sessions against a plain loop, published sizes."""

from dataclasses import replace

import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Task
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import load
from scenarios.learners.kemker.geppnet import (
    Geppnet,
    GeppnetStm,
    GeppnetStmSettings,
    MapSettings,
)
from tests.laws.plain_map import sessions
from tests.scenarios.learners.tiny_learners import learn

TINY = {
    "rows": 4,
    "columns": 6,
    "base_iterations": 400,
    "iterations": 150,
    "readout_rate": 0.03,
    "final_som_rate": 0.02,
}
KINDS = {
    "geppnet": (Geppnet, MapSettings(**TINY)),
    "geppnet_stm": (
        GeppnetStm,
        GeppnetStmSettings(**TINY, memory=30, sleep_interval=40),
    ),
}


def make(kind, dtype=torch.float32, **changes):
    """Return a learner of 8 x 8 images with a fresh network, always the same."""
    of, tiny = KINDS[kind]
    settings = type(tiny).model_validate(
        {
            **tiny.model_dump(),
            **changes,
        }
    )
    model = of.network(settings, (1, 8, 8), 10, 6)
    initialize(model, "murata", stream(0, "init"))
    return of(model.to(dtype), Recipe(epochs=2, batch_size=16), settings, 0)


def incremental(limit=None, dtype=torch.float32):
    """Return the digits: five classes first, then one by one."""
    data = load("digits")
    tasks = []
    for k, classes in enumerate([(0, 1, 2, 3, 4), *((c,) for c in range(5, 10))]):
        own = data.train.of_classes(classes)
        test = data.test.of_classes(classes)
        train = Examples(own.x[:limit].to(dtype), own.y[:limit])
        tasks.append(
            Task(
                index=k + 1,
                name=str(k),
                classes=classes,
                train=train,
                test=test,
            )
        )
    return tasks


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_and_scores_equal_a_plain_loop(kind):
    """Over the units; with the base session's steps in blocks, and novelty told one by one."""
    tasks = incremental(60, torch.float64)[:3]
    # Four images, whose labels change again and again.
    third = tasks[2].train
    labels = 5 + torch.arange(60) // 4 % 2
    few = Examples(third.x[:4].repeat(15, 1, 1, 1), labels)
    tasks[2] = replace(tasks[2], train=few)
    own = make(kind, torch.float64)
    plain = sessions(own.model, own.settings, tasks)
    state = learn(own, tasks).model.state_dict()
    assert state["som.prototypes"].numpy() == pytest.approx(plain.prototypes, abs=1e-9)
    assert state["output.weight"].numpy() == pytest.approx(plain.weight, abs=1e-9)
    assert state["output.bias"].numpy() == pytest.approx(plain.bias, abs=1e-9)
    x = tasks[2].train.x[:5]
    for got, one in zip(
        own.scores(x).detach().numpy(), x.flatten(1).numpy(), strict=True
    ):
        scores = plain.weight @ plain.activity(plain.squared(one)) + plain.bias
        assert got == pytest.approx(scores, abs=1e-9)


def test_the_sizes_are_table_2_s():
    """Of 60,000 and 28,779 training examples; labels of 4 bytes give the printed sizes."""
    for dims, classes, examples, printed, more in (
        (784, 10, 60_000, 190.08, 0.94),
        (1280, 100, 28_779, 150.38, 1.54),
    ):
        model = Geppnet.network(MapSettings(), (dims,), classes, 2)
        weights = sum(p.numel() for p in model.parameters()) - classes  # no biases
        assert 4 * (weights + examples * (dims + 1)) / 1e6 == pytest.approx(
            printed, abs=0.011
        )
        own = GeppnetStm(model, Recipe(), GeppnetStmSettings(), 0)
        assert own.stored_bytes() == 0
        own.learned = 1
        assert (own.stored_bytes() - 300 * 8) / 1e6 == pytest.approx(more, abs=0.005)


@pytest.mark.parametrize(
    ("change", "scale", "said"),
    [
        (
            {
                "readout_rate": 50.0,
                "base_iterations": 3000,
            },
            1,
            r"readout_rate \(50\)",
        ),
        ({"final_radius": 1e-30}, 1, r"final_radius \(1e-30\)"),
        ({}, 1e30, "scale the inputs down"),
    ],
)
def test_diverged_training_is_refused_with_what_can_be_changed(change, scale, said):
    first = incremental(60)[0]
    task = replace(first, train=Examples(first.train.x * scale, first.train.y))
    with pytest.raises(InputError, match=said):
        make("geppnet", **change).learn(task)
