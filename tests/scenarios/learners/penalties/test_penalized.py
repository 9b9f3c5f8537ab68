"""EWC, EWC++, SI and RWalk: against plain implementations, and their quadratic penalty."""

from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.penalties.quadratic import Quadratic
from scenarios.networks import build_network
from tests.laws.plain_penalties import Plain, weights
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    cast,
    chain,
    digits,
    learn,
    learner,
    settings,
    with_norm,
)

KINDS = ["ewc", "ewc_online", "rwalk", "si"]


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


@pytest.mark.parametrize(("kind", "copies"), [*zip(KINDS, (2, 2, 3, 2), strict=True)])
def test_carries_copies_of_trained_parameters_in_float32(kind: str, copies: int) -> None:
    """With bf16 and frozen parameters, which stay and have no importance."""
    model = with_norm()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    own = learner(kind, recipe=replace(RECIPE, precision="bf16"), model=model)
    assert own.state() == {}
    learn(own, digits(8).tasks[:2])
    assert torch.equal(model[0].weight, before)
    carried = {n: t for n, t in own.carried().items() if n != "constant"}
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    assert sum(t.numel() for t in carried.values()) == copies * sum(
        map(Tensor.numel, trained.values())
    )
    assert all(carried[f"anchor.{n}"].shape == p.shape for n, p in trained.items())
    assert {t.dtype for t in carried.values()} == {torch.float32}
    assert all(torch.isfinite(t).all() for t in carried.values())


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        *((kind, "strength", [-1.0, float("inf"), float("nan"), "1"]) for kind in KINDS),
        ("ewc", "fisher_examples", [0, 1.5]),
        ("ewc_online", "alpha", [0.0, 1.5, float("nan")]),
        ("si", "damping", [0.0, float("inf")]),
        ("rwalk", "interval", [0, 2.5]),
        ("rwalk", "epsilon", [0.0, float("nan")]),
        ("rwalk", "distance", ["manhattan"]),
    ],
)
def test_settings_are_checked(kind: str, name: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ValidationError, match=name):
            settings(kind, **{name: value})


# The quadratic itself


def tiny() -> nn.Module:
    layers = (lambda: nn.Linear(4, 3), lambda: nn.BatchNorm1d(3), lambda: nn.Linear(3, 2))
    return chain(*layers).double()


def random_penalty(model: nn.Module, seed: int) -> Quadratic:
    draw = torch.Generator().manual_seed(seed)
    importance, anchor = (
        {
            n: torch.randn(p.shape, generator=draw, dtype=p.dtype)
            for n, p in model.named_parameters()
        }
        for _ in range(2)
    )
    return Quadratic({n: w.relu() for n, w in importance.items()}, anchor)


def by_autograd(model: nn.Module, *penalties: Quadratic) -> tuple[float, list[Tensor]]:
    """Return the value and the gradient of a sum of penalties, written out."""
    total = torch.zeros((), dtype=torch.float64)
    for penalty in penalties:
        for n, p in model.named_parameters():
            total = total + (penalty.importance[n] * (p - penalty.anchor[n]) ** 2).sum()
        total = total + penalty.constant
    return float(total.detach()), list(torch.autograd.grad(total, list(model.parameters())))


def gradient(model: nn.Module, penalty: Quadratic) -> list[Tensor]:
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    penalty.add_gradient(model, 1.0)
    return [p.grad - 1 for p in model.parameters()]


def test_a_sum_of_penalties_is_one_penalty_everywhere() -> None:
    model = tiny()
    parts = [random_penalty(model, seed) for seed in (1, 2, 3)]
    nothing = Quadratic.around(model, {n: p.detach() * 0 for n, p in model.named_parameters()})
    merged = parts[0].plus(parts[1]).plus(parts[2]).plus(nothing)
    for seed in range(5):
        draw = torch.Generator().manual_seed(seed)
        for p in model.parameters():
            p.data.normal_(generator=draw)
        value, slopes = by_autograd(model, *parts)
        assert by_autograd(model, merged)[0] == pytest.approx(value, rel=1e-12)
        torch.testing.assert_close(gradient(model, merged), slopes)
    back = Quadratic.of_tensors(merged.to_tensors())
    assert back.constant == merged.constant
    assert all(map(torch.equal, gradient(model, back), gradient(model, merged)))
    assert Quadratic.of_tensors({}) is None
