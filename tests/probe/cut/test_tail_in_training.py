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


def temperature(m: Any, h: Tensor) -> Tensor:
    return (h / (2.0 if m.training else 0.5)).softmax(1)


def winners(m: Any, h: Tensor) -> Tensor:
    return h * (h >= h.topk(2 if m.training else 6, 1)[0][:, -1:])


def mixup(m: Any, h: Tensor) -> Tensor:
    share = 0.3 if m.training else 1.0
    return share * h + (1 - share) * h.flip(0)


def schedule(m: Any, h: Tensor) -> Tensor:
    m.time = getattr(m, "time", 0) + m.training
    return h * (1.0 if m.time < 40 else 5.0)


def rolls(m: Any, h: Tensor) -> Tensor:
    return torch.roll(h, random.randint(1, 5) if m.training else 0, 1)


@pytest.mark.parametrize("between", [scale, temperature, winners, mixup, schedule, rolls])
def test_the_tail_does_in_training_what_the_model_does(
    between: Callable[[Any, Tensor], Tensor],
) -> None:
    model, x = live(between)
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    for part in (model.train(), cut.tail.train().get_submodule("model")):
        part.time = 0  # type: ignore[assignment]
    for step in range(60):
        random.seed(step)
        expected = model(x)
        random.seed(step)
        assert torch.equal(cut.tail(kept), expected)


def test_a_tail_that_writes_in_place_does_not_write_into_what_it_is_given() -> None:
    model, x = live(lambda m, h: h.add_(torch.tanh(m.head(h)).sum(1, keepdim=True)))
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    assert torch.equal(cut.tail(kept), cut.tail(kept))


def test_sizes_that_follow_the_data_are_not_remembered() -> None:
    """No example of the sample is masked; later ones are."""

    def masks(m: Any, x: Tensor) -> Tensor:
        h = m.a(x)
        return m.head(h) / len(m.mark(h[x[:, 0] > 0]))

    layers = {"a": (6, 6), "mark": nn.Identity, "head": (6, 3)}
    model, x = Written(masks, layers), torch.randn(12, 6, generator=stream(0))
    cut = split(model, "a", x.abs())
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))


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
