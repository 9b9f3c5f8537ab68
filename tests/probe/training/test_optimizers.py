"""Steps of the optimizers, from their papers' formulas."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import fit
from probe.training.recipe import Recipe


def data(n: int, seed: int = 0) -> Examples:
    draw = stream(seed, "data")
    return Examples(torch.randn(n, 4, generator=draw), torch.randint(3, (n,), generator=draw))


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
