"""EWC, EWC++, SI and RWalk: against plain implementations, and what all four must do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from probe.modules import mode
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.networks import build_network
from tests.laws.plain_penalties import Plain, weights
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    cast,
    digits,
    learn,
    learner,
    same,
    settings,
    with_norm,
)

KINDS = ["ewc", "ewc_online", "rwalk", "si"]
TASKS = digits(8).tasks[:3]


def network() -> nn.Module:
    model = build_network("mlp", (1, 8, 8), 10)
    initialize(model, "torch", stream(0, "init"))
    return model


CASES = [
    ("ewc", {"strength": 50.0}),
    ("ewc_online", {"strength": 50.0, "alpha": 0.3}),
    ("si", {"strength": 2.0}),
    ("rwalk", {"strength": 5.0, "interval": 2}),
    ("rwalk", {"strength": 5.0, "interval": 3, "distance": "euclidean", "alpha": 0.5}),
]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(("kind", "changes"), CASES)
def test_agrees_with_the_plain_implementation(
    kind: str, changes: dict[str, object], optimizer: str
) -> None:
    rate = {"sgd": 0.02, "adam": 1e-3}[optimizer]
    recipe = Recipe(epochs=2, batch_size=8, optimizer=optimizer, learning_rate=rate)
    own = learner(kind, recipe=recipe, model=network().double(), **changes)
    free = learner("finetune", recipe=recipe, model=network().double())
    plain = Plain(own.settings, network().double())
    for done, task in enumerate(cast(task, torch.float64) for task in digits(10).tasks[:3]):
        own.learn(task)
        free.learn(task)
        plain.learn(task.train, recipe, stream(0, "batches", done))
        torch.testing.assert_close(weights(own.model), weights(plain.model), rtol=1e-7, atol=1e-10)
    assert not torch.allclose(weights(own.model), weights(free.model), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("exemplars", [None, {"per_class": 3}])
@pytest.mark.parametrize("kind", KINDS)
def test_of_no_strength_is_finetuning(kind: str, exemplars: dict[str, int] | None) -> None:
    given = [(kind, {"strength": 0.0}), ("finetune", {}), (kind, {})]
    own, free, held = (
        learn(learner(k, model=network(), exemplars=exemplars, **more), digits(20).tasks[:3])
        for k, more in given
    )
    assert same(own, free)
    assert not same(held, free)


@pytest.mark.parametrize(
    ("kind", "copies"), [("ewc", 2), ("ewc_online", 2), ("si", 2), ("rwalk", 3)]
)
def test_carries_so_many_copies_of_the_parameters(kind: str, copies: int) -> None:
    own = learner(kind, model=with_norm())
    assert own.state() == {}
    for task in TASKS:
        own.learn(task)
        numbers = sum(t.numel() for n, t in own.carried().items() if n != "constant")
        assert numbers == copies * len(weights(own.model))
    for name, p in own.model.named_parameters():
        anchor = own.carried()[f"anchor.{name}"]
        assert anchor.shape == p.shape
        assert kind == "ewc" or torch.equal(anchor, p)


@pytest.mark.parametrize(
    ("kind", "strength"), [("ewc", 1e4), ("ewc_online", 1e4), ("rwalk", 10.0), ("si", 1.0)]
)
def test_forgets_far_less_than_finetuning(kind: str, strength: float) -> None:
    """Multi-head accuracy on the tasks before the last, after it; 0.5 is chance."""
    tasks, means = digits(60).tasks, []
    for own in (learner("finetune", **FIVE), learner(kind, **FIVE, strength=strength)):
        own.model = network()
        learn(own, tasks)
        with mode(own.model, training=False), torch.no_grad():
            right = [own.logits(t.test.x, t).argmax(1) == t.test.y for t in tasks[:-1]]
        means.append(float(torch.cat(right).float().mean()))
    assert means[0] < 0.7
    assert means[1] > 0.9


FIVE = {"recipe": Recipe(epochs=10, batch_size=16)}


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_parameters_stay_and_have_no_importance(kind: str) -> None:
    model = with_norm()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    own = learn(learner(kind, model=model), TASKS[:2])
    assert torch.equal(model[0].weight, before)
    assert not any(".0." in name for name in own.carried())
    assert any(".1.weight" in name for name in own.carried())


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_leaves_what_is_carried_in_float32(kind: str) -> None:
    own = learn(learner(kind, recipe=replace(RECIPE, precision="bf16"), model=with_norm()), TASKS)
    carried = {n: t for n, t in own.carried().items() if n != "constant"}
    assert {t.dtype for t in carried.values()} == {torch.float32}
    assert all(torch.isfinite(t).all() for t in carried.values())


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        *((kind, "strength", [-1.0, float("inf"), float("nan"), "1"]) for kind in KINDS),
        ("ewc", "fisher_examples", [0, -1, 1.5]),
        ("ewc_online", "alpha", [0.0, 1.5, float("nan")]),
        ("si", "damping", [0.0, -1.0, float("inf")]),
        ("rwalk", "interval", [0, 2.5]),
        ("rwalk", "epsilon", [0.0, float("nan")]),
        ("rwalk", "distance", ["manhattan"]),
    ],
)
def test_settings_are_checked(kind: str, name: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ValidationError, match=name):
            settings(kind, **{name: value})
