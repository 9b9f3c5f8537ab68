"""What the precision of a recipe changes, what it leaves alone, and that fp32 repeats its bits."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.modules import mode
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import fit
from probe.training.recipe import Recipe
from scenarios.networks import build_network
from tests.laws.counting import evaluate


def images(n: int = 20) -> Examples:
    draw = stream(0, "precision")
    return Examples(torch.randn(n, 3, 32, 32, generator=draw), torch.arange(n) % 10)


def trained(precision: str, seed: int = 0, name: str = "reduced_resnet18") -> nn.Module:
    model = build_network(name, (3, 32, 32), 10)
    initialize(model, "murata", stream(0, "init"))
    recipe = Recipe(epochs=2, batch_size=10, precision=precision)  # type: ignore[arg-type]
    fit(model, images(), recipe, stream(seed))
    return model


def same_bits(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(value, b.state_dict()[key]) for key, value in a.state_dict().items())


@pytest.mark.parametrize("name", ["reduced_resnet18", "cnn3"])
def test_fp32_repeats_bit_for_bit(name: str) -> None:
    first = trained("fp32", name=name)
    assert same_bits(first, trained("fp32", name=name))
    assert not same_bits(first, trained("fp32", seed=1, name=name))
    assert not same_bits(first, trained("bf16", name=name))


def test_evaluation_is_in_fp32() -> None:
    """bf16 cannot tell 1 from 1.001, so that the first of two such logits would win."""
    x = torch.tensor([[1.0, 1.001]] * 4)
    model = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    data = Examples(x, torch.ones(4).long())
    for outside in (False, True):
        with mode(model, training=False), torch.autocast("cpu", enabled=outside):
            assert evaluate(model, data, 2).accuracy() == 1
    assert int(model(x).bfloat16().argmax(1)[0]) == 0
