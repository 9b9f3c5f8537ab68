"""What is done to a frozen value behind the feature is done anew at every step."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe.cut.cuts import split
from probe.seeding import stream
from tests.laws.zoo.written import Written


def live(between: Callable[[Any, Tensor], Tensor]) -> tuple[nn.Module, Tensor]:
    """A feature `a`, something without parameters, a head."""
    model = Written(lambda m, x: m.head(between(m, m.a(x))), {"a": (6, 6), "head": (6, 3)})
    return model, torch.randn(12, 6, generator=stream(0))


def scale(m: Any, h: Tensor) -> Tensor:
    return h * (1.0 if m.training else 0.1)


def rolls(m: Any, h: Tensor) -> Tensor:
    return torch.roll(h, random.randint(1, 5) if m.training else 0, 1)


@pytest.mark.parametrize("between", [scale, rolls])
def test_the_tail_does_in_training_what_the_model_does(
    between: Callable[[Any, Tensor], Tensor],
) -> None:
    model, x = live(between)
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    model.train()
    cut.tail.train()
    for step in range(10):
        random.seed(step)
        expected = model(x)
        random.seed(step)
        assert torch.equal(cut.tail(kept), expected)


def test_a_tail_that_writes_in_place_does_not_write_into_what_it_is_given() -> None:
    model, x = live(lambda m, h: h.add_(torch.tanh(m.head(h)).sum(1, keepdim=True)))
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    assert torch.equal(cut.tail(kept), cut.tail(kept))


def test_a_model_that_keeps_values_of_its_last_step_is_copied() -> None:
    def keeps(m: Any, h: Tensor) -> Tensor:
        m.last = torch.relu(h)
        return m.last

    model, x = live(keeps)
    model(x).sum().backward()
    assert not model.last.is_leaf
    cut = split(model, "a", x)
    assert cut.cached
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))


class Biased(nn.Module):
    """Works a bias out anew in training mode, and once in eval mode, as LeViT does."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.arange(3.0))
        self.kept: Tensor | None = None

    def train(self, mode: bool = True) -> Biased:
        if mode:
            self.kept = None
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        bias = self.table[torch.tensor([0, 1, 2, 1, 0, 2])] if self.kept is None else self.kept
        self.kept = None if self.training else bias
        return x + bias


@pytest.mark.parametrize(("at", "frozen"), [("first", 2), ("second", 3), ("third", 4)])
def test_what_a_module_keeps_in_eval_mode_is_seen_to_be_computed(at: str, frozen: int) -> None:
    model = Written(
        lambda m, x: m.head(torch.tanh(m.third(torch.tanh(m.second(m.first(x)))))),
        {"first": (6, 6), "second": Biased, "third": Biased, "head": (6, 3)},
    ).eval()
    x = torch.randn(12, 6, generator=stream(0))
    model(x)
    before = model.second.kept
    cut = split(model, at, x)
    assert cut.cached
    assert len(cut.frozen) == frozen
    assert model.second.kept is before
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(cut.tail.eval()(cut.prefix(x)), model(x))
    trained = [p for p in cut.tail.parameters() if p.requires_grad]
    cut.tail.train()(cut.prefix(x)).sum().backward()
    assert all(p.grad is not None for p in trained)
