"""A path lifted out of PathNet's network: a small dense one, trained in its place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional

from scenarios.learners.kemker.path_network import PathLayer, PathNetwork


class LiftedPath(nn.Module):
    """Copies of the modules on one path and of one task's outputs, without all the others.

    It maps (B, D + 1), inputs and a task's index that is ignored, to the scores (B, C) of
    `classes`, the task's own. path: (L, N); task: its number, from 0. Frozen modules do not learn.
    """

    def __init__(
        self, network: PathNetwork, path: Tensor, task: int, classes: Sequence[int]
    ) -> None:
        super().__init__()
        self.layer1, self.layer2 = map(_Layer, network.layers, path.tolist())
        dense, (_, outputs) = network.output.dense, network.output.tasks_classes
        rows = torch.tensor(classes, dtype=torch.int64, device=dense.weight.device)
        self.output = _Rows(dense, task * outputs + rows, learns=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs with a task's index (B, D + 1) to scores (B, C)."""
        scores: Tensor = self.output(self.layer2(self.layer1(x[:, :-1])))
        return scores

    def put_back(self, network: PathNetwork) -> None:
        """Write what was learned into the network that it was lifted out of."""
        pairs = zip((self.layer1, self.layer2), network.layers, strict=True)
        for rows, dense in ((own.learning, layer.dense) for own, layer in pairs):
            if rows is not None:
                rows.put_back(dense)
        self.output.put_back(network.output.dense)


class _Layer(nn.Module):
    """The modules of one layer that are on the path, the frozen ones apart."""

    def __init__(self, layer: PathLayer, path: Sequence[int]) -> None:
        super().__init__()
        _, self.width = layer.modules_width
        frozen, modules = layer.frozen.tolist(), sorted(set(path))
        self.learning = _modules(layer, [m for m in modules if not frozen[m]], learns=True)
        self.held = _modules(layer, [m for m in modules if frozen[m]], learns=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = (part for part in (self.learning, self.held) if part is not None)
        return reduce(torch.add, (self._sum(part(x)) for part in parts))

    def _sum(self, each: Tensor) -> Tensor:
        summed: Tensor = functional.relu(each).unflatten(1, (-1, self.width)).sum(1)
        return summed


class _Rows(nn.Module):
    """A dense layer that is some rows of a larger one."""

    def __init__(self, dense: nn.Linear, rows: Tensor, learns: bool) -> None:
        super().__init__()
        self.rows = rows
        self.weight = nn.Parameter(dense.weight.detach()[rows], requires_grad=learns)
        self.bias = nn.Parameter(dense.bias.detach()[rows], requires_grad=learns)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    @torch.no_grad()
    def put_back(self, dense: nn.Linear) -> None:
        dense.weight[self.rows] = self.weight
        dense.bias[self.rows] = self.bias


def _modules(layer: PathLayer, modules: Sequence[int], learns: bool) -> _Rows | None:
    return _Rows(layer.dense, layer.rows(modules), learns) if modules else None
