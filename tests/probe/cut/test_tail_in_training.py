"""What is done to a frozen value behind the feature is done anew at every step."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from probe.cut.split import split
from probe.errors import InputError
from probe.seeding import stream


class Live(nn.Module):
    """A feature `a`, something without parameters, a head."""

    def __init__(self, between: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.a, self.head = nn.Linear(6, 6), nn.Linear(6, 3)
        self.between = between
        self.time = 0

    def forward(self, x: Tensor) -> Tensor:
        self.time += self.training
        return self.head(self.between(self, self.a(x)))


def scale(m: nn.Module, h: Tensor) -> Tensor:
    return h * (1.0 if m.training else 0.1)


def temperature(m: nn.Module, h: Tensor) -> Tensor:
    return (h / (2.0 if m.training else 0.5)).softmax(1)


def winners(m: nn.Module, h: Tensor) -> Tensor:
    return h * (h >= h.topk(2 if m.training else 6, 1)[0][:, -1:])


def mixup(m: nn.Module, h: Tensor) -> Tensor:
    share = 0.3 if m.training else 1.0
    return share * h + (1 - share) * h.flip(0)


def schedule(m: nn.Module, h: Tensor) -> Tensor:
    return h * (1.0 if m.time < 40 else 5.0)  # type: ignore[operator]


def rolls(m: nn.Module, h: Tensor) -> Tensor:
    return torch.roll(h, random.randint(1, 5) if m.training else 0, 1)


@pytest.mark.parametrize("between", [scale, temperature, winners, mixup, schedule, rolls])
def test_the_tail_does_in_training_what_the_model_does(
    between: Callable[[nn.Module, Tensor], Tensor],
) -> None:
    model, x = Live(between), torch.randn(12, 6, generator=stream(0))
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    for part in (model.train(), cut.tail.train()):
        part.get_submodule("model" if part is cut.tail else "").time = 0  # type: ignore[assignment]
    for step in range(60):
        random.seed(step)
        expected = model(x)
        random.seed(step)
        assert torch.equal(cut.tail(kept), expected)


def test_a_tail_that_writes_in_place_does_not_write_into_what_it_is_given() -> None:
    x = torch.randn(12, 6, generator=stream(0))
    cut = split(Live(lambda m, h: h.add_(torch.tanh(m.head(h)).sum(1, keepdim=True))), "a", x)
    kept = cut.prefix(x)
    assert torch.equal(cut.tail(kept), cut.tail(kept))


class Chooses(nn.Module):
    """What is done before the feature hangs on a number from a part that does not feed it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.gate, self.b = (nn.Linear(6, 6) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        times = 1 + int(self.gate(h).mean(0).argmax())
        return self.b(h * times) + self.gate(h)


def test_a_number_on_the_way_to_the_feature_is_not_overlooked() -> None:
    x = torch.randn(12, 6, generator=stream(0))
    for seed in range(4):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = Chooses()
        with pytest.raises(InputError, match="stay"):
            split(model, "b", x)


def test_sizes_that_follow_the_data_are_not_remembered() -> None:
    """No example of the sample is masked; later ones are."""

    class Masks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.mark, self.head = nn.Linear(6, 6), nn.Identity(), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = self.a(x)
            some = self.mark(h[x[:, 0] > 0])
            return self.head(h) / len(some)

    model = Masks().eval()
    x = torch.randn(12, 6, generator=stream(0))
    cut = split(model, "a", x.abs())
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model(x))


def test_the_output_needs_no_way_of_training() -> None:
    """Behind it nothing is trained, so that what it does in training mode does not matter."""
    model = Live(lambda m, h: h + torch.randn_like(h) if m.training else h)
    x = torch.randn(12, 6, generator=stream(0))
    cut = split(model, "head", x)
    assert cut.cached
    assert not cut.trainable


def test_a_model_that_keeps_values_of_its_last_step_is_copied() -> None:
    class Keeps(Live):
        def forward(self, x: Tensor) -> Tensor:
            self.last = super().forward(x)
            return self.last

    model, x = Keeps(lambda m, h: torch.relu(h)), torch.randn(12, 6, generator=stream(0))
    model(x).sum().backward()
    assert not model.last.is_leaf
    cut = split(model, "a", x)
    assert cut.cached
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))
