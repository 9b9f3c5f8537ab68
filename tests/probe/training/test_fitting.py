"""The training loop, the optimizers' steps, the recipe and the evaluation."""

from __future__ import annotations

import copy
import math
from dataclasses import FrozenInstanceError
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from probe.errors import InputError
from probe.examples import Examples
from probe.modules import mode, tap
from probe.seeding import global_stream, stream
from probe.training.loop import Objective, fit
from probe.training.recipe import Recipe
from tests.laws.counting import evaluate


def data(n: int, seed: int = 0) -> Examples:
    draw = stream(seed, "data")
    return Examples(torch.randn(n, 4, generator=draw), torch.randint(3, (n,), generator=draw))


class Visits(Objective):
    """Notes which examples each batch holds (their first input is their number)."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        self.batches.append(x[:, 0].int().tolist())
        return x, y


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [(10, 4, [4, 4, 2]), (9, 4, [4, 5]), (8, 4, [4, 4]), (3, 4, [3]), (1, 4, [1]), (3, 1, [1] * 3)],
)
def test_every_epoch_visits_each_example_once(n: int, size: int, expected: list[int]) -> None:
    """In a new order each time; a last batch of one joins the one before it."""
    x = torch.arange(n).float()[:, None].repeat(1, 4)
    spy = Visits()
    recipe = Recipe(epochs=2, batch_size=size)
    fit(nn.Linear(4, 3), Examples(x, torch.zeros(n).long()), recipe, stream(0), spy)
    half = len(expected)
    assert [len(batch) for batch in spy.batches] == expected * 2
    first, second = (list(chain(*part)) for part in (spy.batches[:half], spy.batches[half:]))
    assert sorted(first) == sorted(second) == list(range(n))
    assert n < 8 or first != second


def test_it_finds_the_optimum_that_scikit_learn_finds() -> None:
    examples = data(200)
    model = nn.Linear(4, 3)
    fit(model, examples, Recipe(epochs=300, batch_size=200, learning_rate=0.05), stream(0))
    optimum = LogisticRegression(C=1e6).fit(examples.x.numpy(), examples.y.numpy())
    with torch.no_grad():
        chances = model(examples.x).softmax(1).numpy()
    np.testing.assert_allclose(chances, optimum.predict_proba(examples.x.numpy()), atol=5e-3)


def test_a_step_is_adam_s_step() -> None:
    """One step from the formula of Kingma and Ba: lr * g / (|g| + eps) at the first step."""
    examples = data(8)
    model = nn.Linear(4, 3)
    before = model.weight.detach().clone()
    nn.functional.cross_entropy(model(examples.x), examples.y).backward()
    gradient = model.weight.grad
    assert gradient is not None
    expected = before - 0.01 * gradient / (gradient.abs() + 1e-8)
    fit(model, examples, Recipe(epochs=1, batch_size=8, learning_rate=0.01), stream(0))
    torch.testing.assert_close(model.weight.detach(), expected, rtol=1e-5, atol=1e-7)


def test_steps_are_nadam_s_steps() -> None:
    """Four from the formula of Dozat 2016, with his schedule mu of the momentum, in float64.

    m and v are Adam's moments; the step is along the gradient and the *next* momentum. torch's own
    loop is the second witness, a fit by Adam the negative control.
    """
    examples, rate = data(8), 0.01
    start = nn.Linear(4, 3, bias=False)
    fitted = {}
    for optimizer in ("nadam", "adam"):
        fitted[optimizer] = copy.deepcopy(start)
        recipe = Recipe(epochs=4, batch_size=8, optimizer=optimizer, learning_rate=rate)
        fit(fitted[optimizer], examples, recipe, stream(0))

    plain, torchs = copy.deepcopy(start).double(), copy.deepcopy(start)
    reference = torch.optim.NAdam(torchs.parameters(), lr=rate)
    mu = [0.9 * (1 - 0.5 * 0.96 ** (0.004 * t)) for t in range(6)]
    m = v = torch.zeros(3, 4, dtype=torch.float64)
    for t in range(1, 5):
        for model in (plain, torchs):
            model.zero_grad()
            x = examples.x.to(model.weight.dtype)
            nn.functional.cross_entropy(model(x), examples.y).backward()
        reference.step()
        g = plain.weight.grad
        assert g is not None
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        now, then = math.prod(mu[1 : t + 1]), math.prod(mu[1 : t + 2])
        along = (1 - mu[t]) / (1 - now) * g + mu[t + 1] / (1 - then) * m
        with torch.no_grad():
            plain.weight -= rate * along / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    got = fitted["nadam"].weight.detach()
    torch.testing.assert_close(got.double(), plain.weight.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(got, torchs.weight.detach(), rtol=1e-5, atol=1e-6)
    assert (got - fitted["adam"].weight).abs().max() > 1e-3


def test_the_four_steps_come_in_order() -> None:
    called: list[str] = []

    class Order(Objective):
        def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            called.append("batch")
            return x, y

        def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            called.append("loss")
            return super().loss(model, x, y)

        def after_backward(self, model: nn.Module) -> None:
            called.append("after_backward")
            assert model.get_parameter("weight").grad is not None
            self.weight = model.get_parameter("weight").detach().clone()

        def after_step(self, model: nn.Module) -> None:
            called.append("after_step")
            assert not torch.equal(self.weight, model.get_parameter("weight"))

    fit(nn.Linear(4, 3), data(8), Recipe(epochs=1, batch_size=4), stream(0), Order())
    assert called == ["batch", "loss", "after_backward", "after_step"] * 2


def test_a_changed_gradient_is_the_one_that_counts() -> None:
    class Still(Objective):
        def after_backward(self, model: nn.Module) -> None:
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter.grad.zero_()

    model = nn.Linear(4, 3)
    before = model.weight.detach().clone()
    fit(model, data(8), Recipe(epochs=2), stream(0), Still())
    assert torch.equal(model.weight, before)


def test_parameters_without_gradient_stay_and_modes_come_back() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    model[0].requires_grad_(False)
    model[1].eval()
    before = model[0].weight.clone()
    fit(model, data(16), Recipe(epochs=1), stream(0))
    assert torch.equal(model[0].weight, before)
    assert [m.training for m in model] == [True, False, True]


def test_dropout_follows_the_seed() -> None:
    def trained(seed: int) -> Tensor:
        with global_stream(stream(7)):
            model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3))
        fit(model, data(16), Recipe(epochs=1, batch_size=16), stream(seed))
        return model[0].weight.detach()

    assert torch.equal(trained(0), trained(0))
    assert not torch.equal(trained(0), trained(1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epochs", value) for value in (0, 1.5)),
        *(("batch_size", value) for value in (0, True)),
        *(("learning_rate", value) for value in (0.0, math.nan, math.inf)),
        *(("optimizer", "Adam"), ("init", "Murata"), ("precision", "fp16"), ("optimiser", "adam")),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name}: "):
        Recipe(**{name: value})


def test_a_recipe_is_frozen_and_hashable() -> None:
    assert hash(Recipe(epochs=3)) == hash(Recipe(epochs=3))
    with pytest.raises(FrozenInstanceError):
        Recipe().epochs = 4  # type: ignore[misc]


def test_streams_are_told_apart_by_seed_and_purpose() -> None:
    keys = [(0,), (1,), (0, "tail"), (0, "tail", "conv1"), (0, "tail", 1), (0, "tail", "1")]
    draws = [int(torch.randint(2**62, (), generator=stream(*key))) for key in keys]
    again = [int(torch.randint(2**62, (), generator=stream(*key))) for key in keys]
    assert draws == again
    assert len(set(draws)) == len(keys)


def test_an_output_of_nan_is_refused() -> None:
    with pytest.raises(InputError, match=r"NaN.*diverged"):
        evaluate(lambda x: torch.full((len(x), 3), torch.nan), data(5), classes=3)


def test_borrowed_state_comes_back_after_a_failure() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout())
    model[1].eval()
    before = torch.get_rng_state()
    with (
        pytest.raises(ZeroDivisionError),
        tap(model, ["0"], lambda name, output: None),
        mode(model, training=False),
        global_stream(stream(0)),
    ):
        raise ZeroDivisionError
    assert [m.training for m in model] == [True, False]
    assert torch.equal(torch.get_rng_state(), before)
    assert not model[0]._forward_hooks
