"""Chains of modules, and networks for tests of all that uses cuts."""

from dataclasses import replace

import torch
from torch import nn

from scenarios.networks import cnn3, mlp, reduced_resnet18
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.net import CACHED, Net

_SPECIMENS = (
    "mlp",
    "cnn3",
    "reduced_resnet18",
    "nested",
    "called_twice",
    "tied_weights",
    "a_branch_beside_and_a_skip_across",
    "dropout_on_both_sides",
    "registered_from_the_end",
    "relu_module_in_place",
)


def _chain(build, shape, *features):
    ways = dict.fromkeys(features, (CACHED,))
    return Net(build=build, inputs=lambda n: torch.randn(n, *shape), features=ways)


def _nested():
    inner = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(inplace=True))
    return nn.Sequential(
        inner, nn.Sequential(nn.Linear(5, 4), nn.ReLU()), nn.Linear(4, 3)
    )


def _hooked():
    model = nn.Sequential(nn.Sequential(nn.Linear(6, 5), nn.ReLU()), nn.Linear(5, 3))
    for hooked in (model[0], model[0][0]):
        hooked.register_forward_hook(lambda module, inputs, output: output + 1)
    return model


def _twice():
    layer = nn.Linear(6, 6)
    drop = nn.Dropout(0.5)
    return nn.Sequential(
        nn.Linear(6, 6), drop, layer, nn.ReLU(), layer, drop, nn.Linear(6, 3)
    )


class _Save(nn.Module):
    def forward(self, x):
        self.last = x
        return x


class _Add(nn.Module):
    def __init__(self, save):
        super().__init__()
        self.save = save

    def forward(self, x):
        return x + self.save.last


def _skipping():
    """A skip behind the modules' backs."""
    save = _Save()
    return nn.Sequential(
        nn.Linear(6, 6), save, nn.Linear(6, 6), _Add(save), nn.Linear(6, 3)
    )


CHAINS = {
    "mlp": _chain(lambda: mlp((1, 4, 4), 3), (1, 4, 4), "hidden1", "hidden2", "output"),
    "cnn3": _chain(
        lambda: cnn3((1, 8, 8), 3), (1, 8, 8), "conv1", "conv2", "conv3", "output"
    ),
    "reduced_resnet18": _chain(
        lambda: reduced_resnet18((3, 32, 32), 3, base=2), (3, 32, 32), "layer2"
    ),
    "nested": _chain(_nested, (6,), "0", "0.0", "1.0"),
    "hooked_container": _chain(_hooked, (6,), "0.0", "0", "1"),
    "twice_in_a_chain": _chain(_twice, (6,), "0", "2#1", "3", "2#2"),
    "a_skip_behind_their_backs": _chain(_skipping, (6,), "0", "2", "3"),
}
SPECIMENS = {name: {**HOSTILE, **CHAINS}[name] for name in _SPECIMENS}


def specimen(name, rows=40):
    """Build a network with inputs (rows, ...) and labels (rows,), all its state away from fresh."""
    model, x, _ = replace(SPECIMENS[name], rows=rows).made()
    return model, x, torch.arange(rows) % 3
