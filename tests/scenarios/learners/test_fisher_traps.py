"""Models on which a Fisher by vmap or in closed form goes wrong: each must equal the plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.seeding import stream
from scenarios.learners.penalties.ewc import diagonal_fisher

N, D, K = 5, 6, 3


class Writes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.o = nn.Linear(D, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.o(x.sub_(1.0))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 4, batch_first=True)
        self.o = nn.Linear(4, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.o(self.lstm(x.unflatten(1, (3, 2)))[0][:, -1])


class Shared(nn.Module):
    """A dense layer whose weight is used once more, past the layer; sure of its first example."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(D, D)
        self.o = nn.Linear(D, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.o(functional.linear(functional.relu(self.a(x)), self.a.weight))


def plainly(model: nn.Module, examples: Examples) -> dict[str, Tensor]:
    sums = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for x, y in zip(examples.x.split(1), examples.y.split(1), strict=True):
        loss = functional.cross_entropy(model(x.clone()), y)
        for name, g in zip(sums, torch.autograd.grad(loss, list(model.parameters())), strict=True):
            sums[name] += g.square()
    return {name: total / len(examples) for name, total in sums.items()}


@pytest.mark.parametrize("kind", [Writes, Recurrent, Shared])
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_the_fisher_is_that_of_the_loop_and_the_data_stay(kind: type[nn.Module]) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = kind().eval()
        x = torch.randn(N, D)
    if kind is Shared:
        x[0] *= 1000
    y = model(x.clone()).argmax(1)
    examples = Examples(x.clone(), torch.cat([y[:1], (y[1:] + 1) % K]))
    expected = plainly(model, examples)
    found = diagonal_fisher(model, functional.cross_entropy, examples, stream(0))
    assert torch.equal(examples.x, x)
    for name, each in expected.items():
        assert torch.allclose(found[name], each, rtol=1e-3, atol=1e-4 * float(each.max())), name
