"""The training loop, the recipe, the initialization rules and the evaluation."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from itertools import chain

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from probe.errors import InputError
from probe.examples import Examples
from probe.modules import mode, tap
from probe.seeding import global_stream, stream
from probe.training.evaluation import evaluate
from probe.training.fresh_weights import initialize
from probe.training.loop import Objective, fit
from probe.training.recipe import Recipe


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
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"learning_rate": math.inf},
        {"epochs": 1.5},
        {"batch_size": True},
        {"optimizer": "Adam"},
        {"init": "Murata"},
        {"precision": "fp16"},
    ],
)
def test_a_recipe_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Recipe(**wrong)  # type: ignore[arg-type]


def test_a_recipe_is_frozen_and_hashable() -> None:
    assert hash(Recipe(epochs=3)) == hash(Recipe(epochs=3))
    with pytest.raises(FrozenInstanceError):
        Recipe().epochs = 4  # type: ignore[misc]


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(8, 128, 3), nn.BatchNorm2d(128), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 64)
    )


def test_murata_is_he_for_convolutions_and_a_hundredth_for_dense_layers() -> None:
    """Moments within four standard errors; fan-in 72 gives He's sqrt(2 / 72)."""
    model = network()
    with torch.no_grad():
        model(torch.randn(4, 8, 5, 5, generator=stream(0)))
        for parameter in model.parameters():
            parameter.fill_(9.0)
    initialize(model, "murata", stream(0))
    for layer, std in ((model[0], math.sqrt(2 / 72)), (model[4], 0.01)):
        weight = layer.weight.detach()
        assert abs(float(weight.mean())) < 4 * std / math.sqrt(weight.numel())
        assert abs(float(weight.std()) / std - 1) < 4 / math.sqrt(2 * weight.numel())
    assert not model[0].bias.any()
    assert not model[4].bias.any()
    fresh = nn.BatchNorm2d(128).state_dict()
    assert all(torch.equal(fresh[key], value) for key, value in model[1].state_dict().items())


def test_torch_is_each_module_s_own_rule() -> None:
    model, expected = network(), network()
    initialize(model, "torch", stream(0))
    draw = stream(0)
    for module in expected:
        if hasattr(module, "reset_parameters"):
            with global_stream(draw):
                module.reset_parameters()
    assert all(map(torch.equal, model.parameters(), expected.parameters()))


@pytest.mark.parametrize("rule", ["murata", "torch"])
def test_what_is_kept_keeps_its_bits(rule: str) -> None:
    model = network()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(9.0)
    kept = ["0.weight", "1.running_var", "4.bias"]
    initialize(model, rule, stream(0), keep=kept)  # type: ignore[arg-type]
    assert bool((model[0].weight == 9).all())
    assert bool((model[4].bias == 9).all())
    assert not (model[0].bias == 9).any()
    assert not (model[4].weight == 9).any()


def test_initialising_leaves_the_global_generator_alone() -> None:
    model = network()
    before = torch.get_rng_state()
    initialize(model, "torch", stream(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_that_no_rule_covers_is_named() -> None:
    class Token(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Parameter(torch.zeros(3))

    model = nn.Sequential()
    model.add_module("mark", Token())
    with pytest.raises(InputError, match=r"parameter 'mark.token'.*reset_parameters"):
        initialize(model, "murata", stream(0))
    initialize(model, "murata", stream(0), keep=["mark.token"])


def test_attention_is_covered() -> None:
    attention = nn.MultiheadAttention(8, 2)
    before = attention.in_proj_weight.detach().clone()
    initialize(attention, "murata", stream(0))
    assert not torch.equal(attention.in_proj_weight, before)


def test_streams_are_told_apart_by_seed_and_purpose() -> None:
    keys = [(0,), (1,), (0, "tail"), (0, "tail", "conv1"), (0, "tail", 1), (0, "tail", "1")]
    draws = [int(torch.randint(2**62, (), generator=stream(*key))) for key in keys]
    again = [int(torch.randint(2**62, (), generator=stream(*key))) for key in keys]
    assert draws == again
    assert len(set(draws)) == len(keys)


def test_evaluation_counts_what_brute_force_counts() -> None:
    examples = data(57)
    model = nn.Linear(4, 3)
    with mode(model, training=False):
        counts = evaluate(model, examples, classes=3, batch_size=10)
    expected = np.zeros((3, 3), dtype=int)
    for x, y in zip(examples.x, examples.y, strict=True):
        expected[int(y), int(model(x).argmax())] += 1
    assert np.array_equal(counts.table, expected)


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
