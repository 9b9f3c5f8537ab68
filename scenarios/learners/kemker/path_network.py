"""PathNet's network: layers of modules, with a path and an output layer for each task."""

from collections.abc import Sequence
from functools import reduce
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional


class PathLayer(nn.Module):
    """A layer of M dense ReLU modules of W units, summed over the modules on an example's path.

    Training and re-initialization do not change the two buffers.

    Attributes:
        dense: The modules, all on the same D inputs; rows m W to (m + 1) W are module
            m, from 0.
        gates: A buffer, (T, M), 1 for the modules on the path of each task.
        frozen: A buffer, (M,), true for the modules of a learned task.
    """

    gates: Tensor
    frozen: Tensor

    def __init__(
        self,
        inputs: int,
        modules: int,
        width: int,
        tasks: int,
        active: int,
    ) -> None:
        super().__init__()
        self.modules_width = (modules, width)
        self.dense = nn.Linear(inputs, modules * width)
        is_active = torch.arange(modules) < active
        self.register_buffer("gates", is_active.float().repeat(tasks, 1))
        self.register_buffer("frozen", torch.zeros(modules, dtype=torch.bool))

    def forward(self, x: Tensor, task: Tensor) -> Tensor:
        """Return the sums of the modules on the tasks' paths.

        Args:
            x: The inputs, (B, D).
            task: The task ids, (B,), from 0.

        Returns:
            The sums, (B, W).
        """
        # All modules at once (B, M, W), times the gates (B, M, 1).
        outputs = functional.relu(self.dense(x)).unflatten(1, self.modules_width)
        gates = self.gates[task].unsqueeze(2)
        return cast(Tensor, (outputs * gates).sum(1))

    def rows(self, modules: Sequence[int]) -> Tensor:
        """Return the rows of `dense` that hold these n modules: (n W,) int64."""
        device = self.dense.weight.device
        rows = torch.arange(len(self.dense.weight), device=device)
        chosen = torch.tensor(modules, dtype=torch.int64, device=device)
        of_modules: Tensor = rows.unflatten(0, self.modules_width)
        return of_modules[chosen].flatten()


class TaskOutputs(nn.Module):
    """An output layer with K outputs for each task t, from 0: rows t K to (t + 1) K of `dense`."""

    def __init__(self, inputs: int, tasks: int, classes: int) -> None:
        super().__init__()
        self.tasks_classes = tasks, classes
        self.dense = nn.Linear(inputs, tasks * classes)

    def forward(self, x: Tensor, task: Tensor) -> Tensor:
        """Return the tasks' scores.

        Args:
            x: The inputs, (B, W).
            task: The task ids, (B,), from 0.

        Returns:
            The scores, (B, K).
        """
        scores: Tensor = self.dense(x).unflatten(1, self.tasks_classes)
        return scores.take_along_dim(task[:, None, None], dim=1).squeeze(1)


class PathNetwork(nn.Module):
    """Two layers of modules and the tasks' outputs, as a plain function of inputs and task.

    It maps (B, D + 1), D inputs and the task's index (1 to T), to scores (B, K); tasks
    may be mixed. Every module is computed, but counts only for examples whose task has
    it on its path. A task not yet learned uses the latest learned path (before any, the
    first N modules of each layer, as random as any others) and its untrained output
    layer.

    There are D inputs, K classes, T tasks, M modules per layer with W units each, and N
    active modules. The buffer `learned`, (T,) bool, marks the learned tasks.

    Source: Fernando et al. 2017, section 2 (modules, their sum, outputs per task); the
    sizes give Kemker 2018's 2.80 MB. A path that names a module twice has fewer than N
    in that layer, as in the paper.
    """

    learned: Tensor

    def __init__(
        self,
        inputs: int,
        classes: int,
        tasks: int,
        modules: int,
        active: int,
        width: int,
    ) -> None:
        super().__init__()
        self.layer1 = PathLayer(inputs, modules, width, tasks, active)
        self.layer2 = PathLayer(width, modules, width, tasks, active)
        self.output = TaskOutputs(width, tasks, classes)
        self.register_buffer("learned", torch.zeros(tasks, dtype=torch.bool))

    @property
    def layers(self) -> tuple[PathLayer, PathLayer]:
        """The layers of modules, L = 2."""
        return self.layer1, self.layer2

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs with the task's index (B, D + 1) to scores (B, K)."""
        # The index is an input, so that a batch, a prefix and a tail can mix tasks.
        task = x[:, -1].long() - 1
        features = self.layer2(self.layer1(x[:, :-1], task), task)
        return cast(Tensor, self.output(features, task))

    @torch.no_grad()
    def keep(self, task: int, path: Tensor) -> None:
        """Give the task its path and freeze the modules on it.

        Tasks not yet learned use this path from now on.

        Args:
            task: The task, from 0.
            path: The modules on its path, (L, N).
        """
        # This task and those to come.
        self.learned[task] = False
        affected = ~self.learned
        self.learned[task] = True
        for layer, modules in zip(self.layers, path, strict=True):
            on_path = torch.zeros_like(layer.frozen)
            on_path[modules] = True
            layer.gates[affected] = on_path.to(layer.gates.dtype)
            layer.frozen |= on_path

    @torch.no_grad()
    def renew(self, fresh: "PathNetwork") -> None:
        """Replace the weights of every module that is not frozen by those in `fresh`."""
        for layer, fresh_layer in zip(self.layers, fresh.layers, strict=True):
            rows = layer.rows((~layer.frozen).nonzero().flatten().tolist())
            layer.dense.weight[rows] = fresh_layer.dense.weight[rows]
            layer.dense.bias[rows] = fresh_layer.dense.bias[rows]


class LiftedPath(nn.Module):
    """Copies of the modules on one path and of one task's outputs, for training.

    It maps (B, D + 1), inputs and an ignored task index, to the scores (B, C) of the
    task's C classes. Frozen modules do not learn.

    Args:
        network: The network.
        path: The modules on the path, (L, N).
        task: The task's number, from 0.
        classes: The C classes of the task, in any order.
    """

    def __init__(
        self,
        network: PathNetwork,
        path: Tensor,
        task: int,
        classes: Sequence[int],
    ) -> None:
        super().__init__()
        _, self.width = network.layer1.modules_width
        self.originals: list[tuple[nn.Linear, nn.Linear, Tensor]] = []
        # For each layer a dense part that learns, and a frozen one, if there are any.
        self.layers = nn.ModuleList()
        for layer, modules in zip(network.layers, path.tolist(), strict=True):
            frozen = layer.frozen.tolist()
            parts = nn.ModuleList()
            for learns in (True, False):
                chosen = [m for m in sorted(set(modules)) if frozen[m] != learns]
                if chosen:
                    rows = layer.rows(chosen)
                    parts.append(self._copy_rows(layer.dense, rows, learns))
            self.layers.append(parts)
        dense = network.output.dense
        _, outputs = network.output.tasks_classes
        rows = torch.tensor(classes, dtype=torch.int64, device=dense.weight.device)
        self.output = self._copy_rows(dense, task * outputs + rows, learns=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs with a task's index (B, D + 1) to scores (B, C)."""
        x = x[:, :-1]
        for layer in self.layers:
            # For each part, the sum over its modules.
            sums = []
            for modules in layer.children():
                units = functional.relu(modules(x))
                sums.append(units.unflatten(1, (-1, self.width)).sum(1))
            x = reduce(torch.add, sums)
        return cast(Tensor, self.output(x))

    @torch.no_grad()
    def put_back(self) -> None:
        """Write the learned weights back into the network."""
        for dense, copied, rows in self.originals:
            dense.weight[rows] = copied.weight
            dense.bias[rows] = copied.bias

    def _copy_rows(
        self,
        dense: nn.Linear,
        rows: Tensor,
        learns: bool,
    ) -> nn.Linear:
        """Return a dense layer with copies of some rows of a larger one, noted for `put_back`."""
        copied = nn.Linear(dense.in_features, len(rows), device="meta")
        copied.weight = nn.Parameter(dense.weight.detach()[rows], requires_grad=learns)
        copied.bias = nn.Parameter(dense.bias.detach()[rows], requires_grad=learns)
        self.originals.append((dense, copied, rows))
        return copied
