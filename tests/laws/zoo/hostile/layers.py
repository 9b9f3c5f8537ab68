"""Networks of layers that are awkward to cut: norms, parametrizations, dropout."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn, relu, tanh
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from tests.laws.zoo.net import SAFE
from tests.laws.zoo.written import written


def _norms(
    first,
    second,
    features="p b",
    **more,
):
    """Put a norm on each side of the middle layer."""
    layers = {
        "a": lambda: nn.Conv1d(2, 4, 3),
        "p": first,
        "b": lambda: nn.Conv1d(4, 4, 3),
        "q": second,
        "c": (4, 3),
    }

    def run(m, x):
        h = tanh(m.a(x))
        h = tanh(m.p(h))
        h = tanh(m.b(h))
        h = tanh(m.q(h))
        return m.c(h.mean(2))

    return written(features, layers, shape=(2, 9), **more)(run)


_BATCH = partial(nn.BatchNorm1d, 4)
_INSTANCE = partial(
    nn.InstanceNorm1d,
    4,
    affine=True,
    track_running_stats=True,
)

batch_norm = _norms(_BATCH, partial(_BATCH, momentum=None))
batch_norm_untracked = _norms(
    partial(_BATCH, track_running_stats=False),
    _BATCH,
    ways=SAFE,
)
group_and_instance_norm = _norms(partial(nn.GroupNorm, 2, 4), _INSTANCE)


@written(
    also={
        "a": lambda: parametrizations.weight_norm(nn.Linear(6, 6)),
        "b": lambda: parametrizations.spectral_norm(nn.Linear(6, 6)),
    }
)
def parametrized(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    return m.c(h)


@written(
    "norm#1 mark",
    also={"norm": lambda: nn.BatchNorm1d(6)},
    both_sides=True,
    live=False,
)
def one_batch_norm_on_both_sides(m, x):
    h = m.norm(m.a(x))
    h = m.norm(m.b(m.mark(h)))
    return m.c(h)


@written(
    "a drop_a norm b drop_b",
    also={
        "drop_a": nn.Dropout,
        "norm": lambda: nn.BatchNorm1d(6),
        "drop_b": nn.Dropout,
    },
)
def dropout_on_both_sides(m, x):
    h = m.drop_a(m.a(x))
    h = relu(m.b(m.norm(h)))
    return m.c(m.drop_b(h))


class Biased(nn.Module):
    """Works a bias out anew in training mode, and once in eval mode, as LeViT does."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(3.0))
        self.kept = None

    def train(self, mode=True):
        self.kept = None if mode else self.kept
        return super().train(mode)

    def forward(self, x):
        bias = self.kept
        if bias is None:
            bias = self.table[torch.tensor([0, 1, 2, 1, 0, 2])]
        self.kept = None if self.training else bias
        return x + bias


@written(
    "a p q",
    also={"p": Biased, "q": Biased},
    wrap=lambda model: model.eval(),
)
def biases_kept_in_eval_mode(m, x):
    h = m.a(x)
    h = tanh(m.p(h))
    h = tanh(m.q(h))
    return m.c(h)


@written("b", both_sides=True, live=True)
def functional_dropout_on_both_sides(m, x):
    h = F.dropout(m.a(x), training=m.training)
    h = relu(m.b(h))
    h = F.dropout(h, training=m.training)
    return m.c(h)


@written(
    "drop mix b",
    {
        "a": lambda: nn.Conv2d(3, 32, 3, padding=1),
        "drop": nn.Dropout,
        "mix": lambda: nn.Conv2d(32, 16, 1),
        "b": lambda: nn.Conv2d(16, 8, 1),
        "c": (8, 3),
    },
    inputs=lambda n: torch.randn(n, 3, 6, 6).to(memory_format=torch.channels_last),
)
def pixel_by_pixel(m, x):
    """Of a single image a look at the values must not lose how they lie in memory."""
    h = m.a(x).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    h = m.b(m.mix(m.drop(h))).mean((2, 3))
    return m.c(h)
