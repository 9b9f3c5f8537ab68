"""EWC, EWC++, SI and RWalk: against plain implementations, and what all four must do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from torch import nn

from probe.examples import Examples
from probe.modules import mode
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import limited, load
from scenarios.learners.base import Learner
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.finetune import FinetuneSettings
from scenarios.learners.penalties.quadratic import PenalizedSettings
from scenarios.networks import build_network
from scenarios.streams.split import split_by_class
from scenarios.streams.task import Task
from tests.plain_penalties import Plain, weights

KINDS = ["ewc", "ewc_online", "rwalk", "si"]
RECIPE = Recipe(epochs=2, batch_size=16)


def settings(kind: str, **changes: object) -> PenalizedSettings:
    return TypeAdapter(AnySettings).validate_python({"kind": kind, **changes})


def tasks(limit: int = 20, dtype: torch.dtype = torch.float32) -> list[Task]:
    def cast(data: Examples) -> Examples:
        return Examples(data.x.to(dtype), data.y)

    stream_of_tasks = split_by_class(limited(load("digits"), limit)).tasks
    return [replace(t, train=cast(t.train), test=cast(t.test)) for t in stream_of_tasks]


def network() -> nn.Module:
    model = build_network("mlp", (1, 8, 8), 10)
    initialize(model, "torch", stream(0, "init"))
    return model


def with_norm() -> nn.Module:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)
    )
    initialize(model, "torch", stream(0, "init"))
    return model


def learner(chosen: ContinualSettings, model: nn.Module, recipe: Recipe = RECIPE) -> Learner:
    return LEARNERS[chosen.kind](model, recipe, chosen, 0)


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
    chosen = settings(kind, **changes)
    own = learner(chosen, network().double(), recipe)
    free = learner(FinetuneSettings(), network().double(), recipe)
    plain = Plain(chosen, network().double())
    for done, task in enumerate(tasks(10, torch.float64)[:3]):
        own.learn(task)
        free.learn(task)
        plain.learn(task.train, recipe, stream(0, "batches", done))
        torch.testing.assert_close(weights(own.model), weights(plain.model), rtol=1e-7, atol=1e-10)
    assert not torch.allclose(weights(own.model), weights(free.model), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("exemplars", [None, ExemplarSettings(per_class=3)])
@pytest.mark.parametrize("kind", KINDS)
def test_of_no_strength_is_finetuning(kind: str, exemplars: ExemplarSettings | None) -> None:
    own = learner(settings(kind, strength=0.0, exemplars=exemplars), network())
    free = learner(FinetuneSettings(exemplars=exemplars), network())
    held = learner(settings(kind, exemplars=exemplars), network())
    for task in tasks()[:3]:
        own.learn(task)
        free.learn(task)
        held.learn(task)
    assert torch.equal(weights(own.model), weights(free.model))
    assert not torch.equal(weights(held.model), weights(free.model))


@pytest.mark.parametrize(
    ("build", "exemplars"), [(with_norm, None), (network, ExemplarSettings(total=12))]
)
@pytest.mark.parametrize("kind", KINDS)
def test_continued_from_its_state_it_goes_on_bit_for_bit(
    kind: str, build: Callable[[], nn.Module], exemplars: ExemplarSettings | None
) -> None:
    """From checkpoints after one task and after two; not without what the checkpoint carries."""
    chosen, stream_of_tasks = settings(kind, exemplars=exemplars), tasks()[:3]
    whole, checkpoints = learner(chosen, build()), []
    for task in stream_of_tasks:
        whole.learn(task)
        checkpoints.append(copy.deepcopy((whole.model.state_dict(), whole.state())))

    def continued(done: int, carries: bool) -> Learner:
        model, state = checkpoints[done - 1]
        other = learner(chosen, build())
        other.model.load_state_dict(model)
        other.restore(dict(state) if carries else {}, stream_of_tasks[:done])
        for task in stream_of_tasks[done:]:
            other.learn(task)
        return other

    for other in (continued(1, carries=True), continued(2, carries=True)):
        for own, its in (
            (whole.model.state_dict(), other.model.state_dict()),
            (whole.state(), other.state()),
        ):
            assert own.keys() == its.keys()
            assert all(torch.equal(own[n], t) for n, t in its.items())
    assert not torch.equal(weights(continued(1, carries=False).model), weights(whole.model))


@pytest.mark.parametrize("kind", KINDS)
def test_learning_twice_gives_the_same_bits(kind: str) -> None:
    runs = [learner(settings(kind), with_norm()) for _ in range(2)]
    before = torch.get_rng_state()
    for run in runs:
        for task in tasks(8)[:3]:
            run.learn(task)
    assert torch.equal(weights(runs[0].model), weights(runs[1].model))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("kind", "copies"), [("ewc", 2), ("ewc_online", 2), ("si", 2), ("rwalk", 3)]
)
def test_carries_so_many_copies_of_the_parameters(kind: str, copies: int) -> None:
    own = learner(settings(kind), with_norm())
    assert own.state() == {}
    for task in tasks(8)[:3]:
        own.learn(task)
        numbers = sum(t.numel() for n, t in own.carried().items() if n != "constant")
        assert numbers == copies * len(weights(own.model))
    anchors = {n: t for n, t in own.carried().items() if n.startswith("anchor.")}
    for name, p in own.model.named_parameters():
        assert anchors[f"anchor.{name}"].shape == p.shape
        assert kind == "ewc" or torch.equal(anchors[f"anchor.{name}"], p)


@pytest.mark.parametrize(
    ("kind", "strength"), [("ewc", 1e4), ("ewc_online", 1e4), ("rwalk", 10.0), ("si", 1.0)]
)
def test_forgets_far_less_than_finetuning(kind: str, strength: float) -> None:
    """Multi-head accuracy on the tasks before the last, after it; 0.5 is chance."""
    stream_of_tasks = split_by_class(load("digits")).tasks
    means = []
    for chosen in (FinetuneSettings(), settings(kind, strength=strength)):
        own = learner(chosen, network(), Recipe(epochs=5, batch_size=16))
        for task in stream_of_tasks:
            own.learn(task)
        with mode(own.model, training=False), torch.no_grad():
            right = [own.logits(t.test.x, t).argmax(1) == t.test.y for t in stream_of_tasks[:-1]]
        means.append(float(torch.cat(right).float().mean()))
    assert means[0] < 0.7
    assert means[1] > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_parameters_stay_and_have_no_importance(kind: str) -> None:
    model = with_norm()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    own = learner(settings(kind), model)
    for task in tasks(8)[:2]:
        own.learn(task)
    assert torch.equal(model[0].weight, before)
    assert not any(".0." in name for name in own.carried())
    assert any(".1.weight" in name for name in own.carried())


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_leaves_what_is_carried_in_float32(kind: str) -> None:
    own = learner(settings(kind), with_norm(), replace(RECIPE, precision="bf16"))
    for task in tasks(8)[:3]:
        own.learn(task)
    carried = {n: t for n, t in own.carried().items() if n != "constant"}
    assert {t.dtype for t in carried.values()} == {torch.float32}
    assert all(torch.isfinite(t).all() for t in carried.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [-1.0, float("inf"), float("nan"), "1"])
def test_strength_is_a_finite_number(kind: str, strength: object) -> None:
    with pytest.raises(ValidationError, match="strength"):
        settings(kind, strength=strength)


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
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
