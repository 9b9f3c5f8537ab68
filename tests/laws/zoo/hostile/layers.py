"""Networks of layers that are awkward to cut: norms, parametrizations, dropout."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from tests.laws.zoo.net import CACHED, SAFE, Net
from tests.laws.zoo.written import Layer, written


def _chain(*names: str, layers: dict[str, Layer], shape: tuple[int, ...], **more: Any) -> Net:
    """Run the layers in order and classify the mean over all but rows and channels."""

    def run(m: Any, x: Tensor) -> Tensor:
        for name in names:
            x = torch.tanh(getattr(m, name)(x))
        return m.c(x.flatten(2).mean(2) if x.ndim > 2 else x)

    features = more.pop("features", " ".join(names))
    return written(features, layers, shape=shape, **more)(run)


def _norms(first: Layer, second: Layer, **more: Any) -> Net:
    """Put a norm on each side of the middle layer."""
    layers = {"a": lambda: nn.Conv1d(2, 4, 3), "p": first, "b": lambda: nn.Conv1d(4, 4, 3)}
    layers |= {"q": second, "c": lambda: nn.Linear(4, 3)}
    return _chain("a", "p", "b", "q", layers=layers, shape=(2, 9), **more)


_BATCH = partial(nn.BatchNorm1d, 4)
_INSTANCE = partial(nn.InstanceNorm1d, 4)

batch_norm = _norms(_BATCH, partial(_BATCH, momentum=None))
batch_norm_untracked = _norms(
    partial(_BATCH, track_running_stats=False),
    _BATCH,
    features={"a": (CACHED,), "p": SAFE, "b": SAFE, "q": SAFE},
)
layer_and_group_norm = _norms(partial(nn.LayerNorm, 7), partial(nn.GroupNorm, 2, 4))
instance_norm = _norms(
    partial(_INSTANCE, track_running_stats=True), partial(_INSTANCE, affine=True)
)
convolutions_channels_last = _chain(
    *("a", "p", "b"),
    layers={
        "a": partial(nn.Conv2d, 3, 8, 3),
        "p": partial(nn.BatchNorm2d, 8),
        "b": partial(nn.Conv2d, 8, 8, 3),
        "c": (8, 3),
    },
    shape=(3, 8, 8),
    wrap=lambda model: model.to(memory_format=torch.channels_last),
    inputs=lambda n: torch.randn(n, 3, 8, 8).to(memory_format=torch.channels_last),
)


parametrized = _chain(
    *("a", "b"),
    layers={
        "a": lambda: parametrizations.weight_norm(nn.Linear(6, 6)),
        "b": lambda: parametrizations.spectral_norm(nn.Linear(6, 6)),
        "c": (6, 3),
    },
    shape=(6,),
)


@written(
    "norm#1 mark",
    also={"norm": lambda: nn.BatchNorm1d(6)},
    both_sides=True,
    live=False,
)
def one_batch_norm_on_both_sides(m: Any, x: Tensor) -> Tensor:
    return m.c(m.norm(m.b(m.mark(m.norm(m.a(x))))))


@written(
    "a drop_a norm b drop_b",
    also={"drop_a": nn.Dropout, "norm": lambda: nn.BatchNorm1d(6), "drop_b": nn.Dropout},
)
def dropout_on_both_sides(m: Any, x: Tensor) -> Tensor:
    return m.c(m.drop_b(torch.relu(m.b(m.norm(m.drop_a(m.a(x)))))))


@written("drop#1 b", also={"drop": nn.Dropout}, both_sides=True, live=True)
def one_dropout_on_both_sides(m: Any, x: Tensor) -> Tensor:
    return m.c(m.drop(torch.relu(m.b(m.drop(m.a(x))))))


@written("b", both_sides=True, live=True)
def functional_dropout_on_both_sides(m: Any, x: Tensor) -> Tensor:
    h = F.dropout(torch.relu(m.b(F.dropout(m.a(x), training=m.training))), training=m.training)
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
    shape=(3, 6, 6),
)
def pixel_by_pixel(m: Any, x: Tensor) -> Tensor:
    """Of a single image a look at the values must not lose how they lie in memory."""
    h = m.a(x).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    return m.c(m.b(m.mix(m.drop(h))).mean((2, 3)))
