"""A quadratic penalty: its gradient, and several of them as one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from scenarios.learners.penalties.quadratic import Quadratic
from tests.scenarios.learners.tiny_learners import chain


def network() -> nn.Module:
    layers = (lambda: nn.Linear(4, 3), lambda: nn.BatchNorm1d(3), lambda: nn.Linear(3, 2))
    return chain(*layers).double()


def random_penalty(model: nn.Module, seed: int) -> Quadratic:
    draw = torch.Generator().manual_seed(seed)

    def numbers(p: Tensor) -> Tensor:
        return torch.randn(p.shape, generator=draw, dtype=p.dtype)

    importance = {n: numbers(p).relu() for n, p in model.named_parameters()}
    anchor = {n: numbers(p) for n, p in model.named_parameters()}
    return Quadratic(importance, anchor)


def plain_value(model: nn.Module, penalty: Quadratic) -> float:
    total = 0.0
    for name, p in model.named_parameters():
        w, a = penalty.importance[name].flatten(), penalty.anchor[name].flatten()
        for k, theta in enumerate(p.flatten().tolist()):
            total += float(w[k]) * (theta - float(a[k])) ** 2
    return total


def gradient(model: nn.Module, penalty: Quadratic, scale: float) -> list[Tensor]:
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    penalty.add_gradient(model, scale)
    return [p.grad - 1 for p in model.parameters()]


def test_the_gradient_is_that_of_finite_differences() -> None:
    model, step = network(), 1e-4
    penalty = random_penalty(model, 1)
    for p, slope in zip(model.parameters(), gradient(model, penalty, 0.5), strict=True):
        flat = p.detach().flatten()
        for k in range(len(flat)):
            here = float(flat[k])
            ends = []
            for theta in (here + step, here - step):
                flat[k] = theta
                ends.append(plain_value(model, penalty))
            flat[k] = here
            expected = 0.5 * (ends[0] - ends[1]) / (2 * step)
            assert float(slope.flatten()[k]) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_a_sum_of_penalties_is_one_penalty_everywhere() -> None:
    model = network()
    parts = [random_penalty(model, seed) for seed in (1, 2, 3)]
    merged = parts[0].plus(parts[1]).plus(parts[2])
    for seed in range(5):
        draw = torch.Generator().manual_seed(seed)
        for p in model.parameters():
            p.data.normal_(generator=draw)
        assert parts[0].value(model) == pytest.approx(plain_value(model, parts[0]), rel=1e-12)
        explicit = sum(plain_value(model, part) for part in parts)
        assert merged.value(model) == pytest.approx(explicit, rel=1e-12)
        slopes = [gradient(model, part, 3.0) for part in parts]
        for one, *each in zip(gradient(model, merged, 3.0), *slopes, strict=True):
            torch.testing.assert_close(one, sum(each))


def test_the_sum_needs_its_constant_and_the_weighted_anchor() -> None:
    """The negative controls of the test above."""
    model = network()
    one, two = random_penalty(model, 1), random_penalty(model, 2)
    explicit = plain_value(model, one) + plain_value(model, two)
    merged = one.plus(two)
    assert Quadratic(merged.importance, merged.anchor).value(model) < 0.9 * explicit
    halfway = {n: (a + two.anchor[n]) / 2 for n, a in one.anchor.items()}
    wrong = gradient(model, Quadratic(merged.importance, halfway), 1.0)
    assert not torch.allclose(wrong[0], gradient(model, merged, 1.0)[0], rtol=0.1)


def test_where_nothing_counts_the_sum_is_finite() -> None:
    model = network()
    nothing = Quadratic.around(model, {n: p.detach() * 0 for n, p in model.named_parameters()})
    merged = nothing.plus(nothing)
    assert merged.value(model) == 0
    assert all(torch.equal(g, torch.zeros_like(g)) for g in gradient(model, merged, 1.0))
    other = random_penalty(model, 1)
    expected = plain_value(model, other)
    assert nothing.plus(other).value(model) == pytest.approx(expected, rel=1e-12)
    assert other.plus(nothing).value(model) == pytest.approx(expected, rel=1e-12)


def test_what_has_no_gradient_or_is_not_named_is_left_alone() -> None:
    model = network()
    penalty = random_penalty(model, 1)
    free = {n: w for n, w in penalty.importance.items() if not n.startswith("0.")}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    model[2].bias.grad = None
    buffers = [b.clone() for b in model.buffers()]
    Quadratic(free, penalty.anchor).add_gradient(model, 1.0)
    assert model[2].bias.grad is None
    assert not model[0].weight.grad.any()
    assert not model[0].bias.grad.any()
    assert model[1].weight.grad.any()
    assert model[2].weight.grad.any()
    assert all(map(torch.equal, buffers, model.buffers()))


def test_the_anchor_is_a_copy() -> None:
    model = network()
    penalty = Quadratic.around(model, {n: torch.ones_like(p) for n, p in model.named_parameters()})
    assert penalty.value(model) == 0
    model[0].bias.data += 2.0
    assert penalty.value(model) == pytest.approx(3 * 4.0)


def test_tensors_there_and_back() -> None:
    model = network()
    merged = random_penalty(model, 1).plus(random_penalty(model, 2))
    tensors = merged.to_tensors()
    assert set(tensors) == {
        "constant",
        *(f"{kind}.{n}" for kind in ("importance", "anchor") for n, _ in model.named_parameters()),
    }
    back = Quadratic.of_tensors(tensors)
    assert back.value(model) == merged.value(model)
    assert all(map(torch.equal, gradient(model, back, 1.0), gradient(model, merged, 1.0)))
    assert Quadratic.of_tensors({}) is None
