"""EWC: the gradient of its penalty, and on which examples its Fisher is taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.training.loop import Recipe
from scenarios.learners.continual import Competing
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.penalties.ewc import Ewc, EwcSettings
from scenarios.streams.task import Task

RECIPE = Recipe(epochs=3, batch_size=8, learning_rate=0.01)


def task(index: int, n: int = 24) -> Task:
    """Two classes of points in five dimensions, in float64."""
    draw = torch.Generator().manual_seed(index)
    classes = (2 * index, 2 * index + 1)
    y = torch.tensor(classes).repeat(n // 2)
    x = torch.randn(n, 5, generator=draw, dtype=torch.float64) + y[:, None] / 3
    data = Examples(x, y)
    return Task(index=index + 1, name=str(classes), classes=classes, train=data, test=data)


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 6)).double()


def learner(**changes: object) -> Ewc:
    return Ewc(network(), RECIPE, EwcSettings(strength=7.0, **changes), 0)  # type: ignore[arg-type]


def by_loop(model: nn.Module, data: Examples, outputs: Sequence[int]) -> dict[str, Tensor]:
    total = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
    for x, y in zip(data.x, data.y.tolist(), strict=True):
        log_p = model(x[None])[0, list(outputs)].log_softmax(0)[list(outputs).index(y)]
        for n, g in zip(total, torch.autograd.grad(log_p, list(model.parameters())), strict=True):
            total[n] += g**2 / len(data)
    return total


def test_the_gradient_is_that_of_finite_differences_of_the_whole_objective() -> None:
    """L + (lambda / 2) sum_j F_j (theta - theta_j)^2, every term of two past tasks written out."""
    own, past = learner(), []
    for index in range(2):
        own.learn(task(index))
        anchor = {n: p.detach().clone() for n, p in own.model.named_parameters()}
        past.append((by_loop(own.model, task(index).train, range(6)), anchor))
    x, y = task(2).train.x, task(2).train.y
    draw = torch.Generator().manual_seed(9)
    for p in own.model.parameters():
        p.data += 0.3 * torch.randn(p.shape, generator=draw, dtype=p.dtype)

    @torch.no_grad()
    def objective() -> float:
        total = functional.cross_entropy(own.model(x), y)
        for fisher, anchor in past:
            for n, p in own.model.named_parameters():
                total = total + 7.0 / 2 * (fisher[n] * (p - anchor[n]) ** 2).sum()
        return float(total)

    own.model.zero_grad()
    own.loss(own.model, x, y).backward()
    bare = [p.grad.clone() for p in own.model.parameters() if p.grad is not None]
    own.after_backward(own.model)
    step = 1e-5
    for p, without in zip(own.model.parameters(), bare, strict=True):
        flat, slopes = p.detach().flatten(), []
        for k in range(len(flat)):
            here = float(flat[k])
            flat[k] = here + step
            above = objective()
            flat[k] = here - step
            slopes.append((above - objective()) / (2 * step))
            flat[k] = here
        expected = torch.tensor(slopes, dtype=torch.float64).view_as(p)
        torch.testing.assert_close(p.grad, expected, rtol=1e-6, atol=1e-8)
        assert not torch.allclose(without, expected, rtol=1e-2)


@pytest.mark.parametrize(
    ("competing", "outputs"), [("all", range(6)), ("seen", range(4)), ("task", (2, 3))]
)
def test_the_fisher_is_that_of_the_outputs_that_compete(
    competing: Competing, outputs: Sequence[int]
) -> None:
    own = learner(competing=competing)
    own.learn(task(0))
    first = {n: w.clone() for n, w in own.penalty.importance.items()} if own.penalty else {}
    own.learn(task(1))
    expected = by_loop(own.model, task(1).train, outputs)
    assert own.penalty is not None
    for n, w in own.penalty.importance.items():
        torch.testing.assert_close(w - first[n], expected[n], rtol=1e-8, atol=1e-12)
    idle = [c for c in range(6) if c not in outputs]
    assert not (own.penalty.importance["2.weight"] - first["2.weight"])[idle].any()


def test_the_fisher_is_that_of_the_tasks_own_examples_not_of_the_exemplars() -> None:
    own = learner(exemplars=ExemplarSettings(per_class=4))
    own.learn(task(0))
    first = {n: w.clone() for n, w in own.penalty.importance.items()} if own.penalty else {}
    own.learn(task(1))
    expected = by_loop(own.model, task(1).train, range(6))
    assert own.penalty is not None
    for n, w in own.penalty.importance.items():
        torch.testing.assert_close(w - first[n], expected[n], rtol=1e-8, atol=1e-12)


def test_a_fisher_of_fewer_examples() -> None:
    """Random ones, without repeats: all of them give the whole mean, one gives its own square."""
    importance = []
    for count in (None, 24, 100, 1):
        own = learner(fisher_examples=count)
        own.learn(task(0))
        assert own.penalty is not None
        importance.append(own.penalty.importance)
    whole, same, more, one = importance
    torch.testing.assert_close(whole, same)
    torch.testing.assert_close(whole, more)
    data = task(0).train
    each = [
        by_loop(own.model, Examples(data.x[k : k + 1], data.y[k : k + 1]), range(6))
        for k in range(24)
    ]
    near = [all(torch.allclose(one[n], f[n]) for n in f) for f in each]
    assert near.count(True) == 1
