"""phi(x): the input of the layer that gives the logits, in many shapes of network."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.errors import InputError
from probe.modules import mode
from probe.training.evaluation import penultimate


def images(*shape):
    return torch.randn(5, *shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "behind",
    [
        nn.Identity(),
        nn.Flatten(),
        nn.LogSoftmax(dim=1),
        nn.ReLU(inplace=True),
        nn.BatchNorm1d(4),
        nn.Sequential(nn.Identity(), nn.Sequential(nn.PReLU(4), nn.Identity())),
    ],
    ids=lambda module: type(module).__name__,
)
def test_layers_without_a_matrix_behind_it_are_passed_over(behind):
    with torch.random.fork_rng():
        model = nn.Sequential(
            nn.Linear(3, 6), nn.ReLU(inplace=True), nn.Linear(6, 4), behind
        )
    x = images(3)
    with mode(model, training=False):
        torch.testing.assert_close(penultimate(model, x), model[0](x).relu())


class Odd(nn.Module):
    """Ends in another way than by what a layer returns: way(self, x)."""

    def __init__(self, way):
        super().__init__()
        self.one = nn.Linear(4, 3)
        self.two = nn.Linear(4, 3)
        self.way = way

    def forward(self, x):
        return self.way(self, x)

    def freed(self, x):
        """Values of many layers are freed before the output, which may get the id of one."""
        for _ in range(50):
            self.two(x)
        return functional.linear(x, self.one.weight, self.one.bias)


WAYS = {
    "sum": lambda odd, x: odd.one(x) + odd.two(x),
    "functional": lambda odd, x: functional.linear(x, odd.one.weight),
    "freed": Odd.freed,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_output_that_is_no_layer_s_is_refused_in_a_sentence(way):
    for _ in range(20):
        with pytest.raises(InputError, match="its last layer"):
            penultimate(Odd(WAYS[way]), images(4))
