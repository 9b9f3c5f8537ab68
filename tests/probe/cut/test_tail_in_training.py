"""What is done to a frozen value behind the feature is done anew at every step."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from probe.cut.cuts import split
from probe.seeding import stream
from tests.laws.zoo.written import Written


def live(between: Callable[[Any, Tensor], Tensor]) -> tuple[nn.Module, Tensor]:
    """A feature `a`, something without parameters, a head."""
    model = Written(
        lambda m, x: m.head(between(m, m.a(x))), {"a": (6, 6), "head": (6, 3)}
    )
    return model, torch.randn(12, 6, generator=stream(0))


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
