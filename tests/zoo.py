"""Networks to cut: those of the scenarios, and small ones written to be awkward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from scenarios.networks import ARCHITECTURES, cnn3, mlp, reduced_resnet18


class InPlace(nn.Module):
    """The activation behind the feature overwrites the feature's value."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.relu = nn.ReLU(inplace=True)
        self.second = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.relu(self.first(x)))


class Branches(nn.Module):
    """A skip crosses the cut at `middle`; `side` runs before it and does not feed it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(6, 5)
        self.side = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5))
        self.middle = nn.Linear(5, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        stem = torch.relu(self.stem(x))
        side = self.side(x)
        return self.head(torch.relu(self.middle(stem)) + side + stem)


class Reversed(nn.Module):
    """Registered in the opposite order of execution."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 3)
        self.middle = nn.BatchNorm1d(4, affine=False)
        self.first = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.middle(self.first(x)))


class Tied(nn.Module):
    """The tail uses a weight of the prefix again."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(6, 4, bias=False)
        self.decode = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        code = torch.tanh(self.encode(x))
        return self.decode(functional.linear(code, self.encode.weight.t()))


class Drops(nn.Module):
    """Dropout on both sides of the cut: off before it, live behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.BatchNorm1d(8))
        self.second = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.second(self.first(x))))


class FunctionalDropout(nn.Module):
    """Dropout before the cut is called by the module that also computes what follows."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.second = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.dropout(self.first(x), 0.5, self.training)
        return self.head(functional.relu(self.second(x)))


class Twice(nn.Module):
    """The same layer runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(torch.relu(self.layer(x))))


@dataclass(frozen=True)
class Specimen:
    """A network, the shape of one input, and features at which to cut it."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    features: tuple[str, ...]


def _network(name: str, build: Callable[[], nn.Module], shape: tuple[int, ...]) -> Specimen:
    return Specimen(build, shape, ARCHITECTURES[name].features)


def _nested() -> nn.Module:
    inner = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(inplace=True))
    return nn.Sequential(inner, nn.Sequential(nn.Linear(5, 4), nn.ReLU()), nn.Linear(4, 3))


ZOO = {
    "mlp": _network("mlp", lambda: mlp((1, 4, 4), 3), (1, 4, 4)),
    "cnn3": _network("cnn3", lambda: cnn3((1, 8, 8), 3), (1, 8, 8)),
    "reduced_resnet18": _network(
        "reduced_resnet18", lambda: reduced_resnet18((3, 32, 32), 3, base=2), (3, 32, 32)
    ),
    "nested": Specimen(_nested, (6,), ("0", "0.0", "0.1", "1.0", "2")),
    "in place": Specimen(InPlace, (6,), ("first", "relu", "second")),
    "branches": Specimen(Branches, (6,), ("stem", "side", "side.0", "middle")),
    "reversed": Specimen(Reversed, (6,), ("first", "middle", "last")),
    "tied": Specimen(Tied, (6,), ("encode", "decode")),
    "functional dropout": Specimen(FunctionalDropout, (6,), ("first", "second")),
    "twice": Specimen(Twice, (6,), ("layer#1", "layer#2", "head")),
    "drops": Specimen(Drops, (6,), ("first", "first.0", "second")),
}


CUTS = [(name, feature) for name, specimen in ZOO.items() for feature in specimen.features]


def specimen(name: str, seed: int = 0) -> tuple[nn.Module, Tensor, Tensor]:
    """Build a network with inputs (40, ...) and labels, all its state away from fresh values."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ZOO[name].build()
        x = torch.randn(40, *ZOO[name].shape)
        y = torch.arange(40) % 3
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.rand_like(parameter))
            model.train()(x)
    return model, x, y
