"""Small networks written as a function: the layers by keyword, the forward pass as the body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo_cuts.net import CACHED, Net

Forward = Callable[[Any, Tensor], Any]
Layer = tuple[int, int] | Callable[[], Any]


class Written(nn.Module):
    """The layers are its modules, parameters and buffers; `run` is its forward pass."""

    def __init__(self, run: Forward, layers: dict[str, Layer]) -> None:
        super().__init__()
        self.run = run
        for name, layer in layers.items():
            made = nn.Linear(*layer) if isinstance(layer, tuple) else layer()
            if isinstance(made, Tensor) and not isinstance(made, nn.Parameter):
                self.register_buffer(name, made)
            else:
                setattr(self, name, made)

    def forward(self, x: Tensor) -> Any:
        return self.run(self, x)


def written(
    shape: tuple[int, ...],
    features: str | dict[str, tuple[str, ...]],
    layers: dict[str, Layer],
    *,
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
    inputs: Callable[[int], Tensor] | None = None,
    **more: Any,
) -> Callable[[Forward], Net]:
    """Make a `Net` of the function below it.

    shape: of one input; features: names with a space in between, to be cut and cached, or with the
    ways each may be cut in; layers: as sizes of a linear layer or as a function that makes it.
    """
    if isinstance(features, str):
        features = dict.fromkeys(features.split(), (CACHED,))

    def make(run: Forward) -> Net:
        return Net(
            build=lambda: wrap(Written(run, layers)),
            inputs=inputs or (lambda n: torch.randn(n, *shape)),
            features=features,
            **more,
        )

    return make


def collected(names: dict[str, Any]) -> dict[str, Net]:
    """Return the networks among a module's names."""
    return {name: net for name, net in names.items() if isinstance(net, Net)}
