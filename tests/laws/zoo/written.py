"""Small networks written as a function: the layers by name, the forward pass as the body."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tests.laws.zoo.net import CACHED, Net

Forward = Callable[[Any, Tensor], Any]
Layer = tuple[int, int] | Callable[[], Any]

ABC: dict[str, Layer] = {"a": (6, 6), "b": (6, 6), "c": (6, 3), "mark": nn.Identity}


class Written(nn.Module):
    """The layers are its modules, parameters and buffers; `run` is its forward pass."""

    def __init__(self, run: Forward, layers: Mapping[str, Layer]) -> None:
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
    features: str | dict[str, tuple[str, ...]] = "a b",
    layers: Mapping[str, Layer] = ABC,
    *,
    shape: tuple[int, ...] = (6,),
    also: Mapping[str, Layer] | None = None,
    ways: tuple[str, ...] = (CACHED,),
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
    inputs: Callable[[int], Tensor] | None = None,
    **more: Any,
) -> Callable[[Forward], Net]:
    """Make a `Net` of the function below it.

    features: names with a space in between, to be cut in any of `ways`, or each with
        its own ways;
    layers, also: as sizes of a linear layer or as a function that makes it; shape: of
        an input.
    """
    if isinstance(features, str):
        features = dict.fromkeys(features.split(), ways)

    def make(run: Forward) -> Net:
        return Net(
            build=lambda: wrap(Written(run, {**layers, **(also or {})})),
            inputs=inputs or (lambda n: torch.randn(n, *shape)),
            features=features,
            **more,
        )

    return make
