"""Small networks written as a function: the layers by name, the forward pass as the body."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.laws.zoo.net import CACHED, Net

Layer = tuple[int, int] | Callable[[], Any]

ABC = {"a": (6, 6), "b": (6, 6), "c": (6, 3), "mark": nn.Identity}


class Written(nn.Module):
    """The layers are its modules, parameters and buffers; `run` is its forward pass."""

    def __init__(self, run, layers):
        super().__init__()
        self.run = run
        for name, layer in layers.items():
            if isinstance(layer, tuple):
                layer = partial(nn.Linear, *layer)
            made = layer()
            if isinstance(made, Tensor) and not isinstance(made, nn.Parameter):
                self.register_buffer(name, made)
            else:
                setattr(self, name, made)

    def forward(self, x):
        return self.run(self, x)


def written(
    features="a b",
    layers=ABC,
    *,
    shape=(6,),
    also=None,
    ways=(CACHED,),
    wrap=lambda model: model,
    inputs=None,
    **more,
):
    """Make a `Net` of the function below it.

    features: names with a space in between, to be cut in any of `ways`, or each with
        its own ways;
    layers, also: as sizes of a linear layer or as a function that makes it; shape: of
        an input.
    """
    if isinstance(features, str):
        features = dict.fromkeys(features.split(), ways)

    def make(run):
        return Net(
            build=lambda: wrap(Written(run, {**layers, **(also or {})})),
            inputs=inputs or (lambda n: torch.randn(n, *shape)),
            features=features,
            **more,
        )

    return make
