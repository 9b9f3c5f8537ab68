"""Early stopping: a training ends once the loss on held-out examples no longer falls."""

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, cast

import torch
from torch import Tensor, nn

from probe.batch import Named, gather
from probe.examples import Labeled
from probe.modules import detached, mode, named_state, restore
from probe.seeding import permutation
from probe.training.recipe import Recipe

_BATCH = 256  # held-out examples


class Validated(Protocol):
    """An objective (`probe.training.loop.Objective`), as far as early stopping needs it."""

    sums: ClassVar[Sequence[str]]

    def validation_loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
    ) -> Tensor:
        """Return the loss on held-out examples."""
        ...


class EarlyStopping:
    """The examples that a training holds out, and the weights with the lowest loss on them.

    Without `patience` no example is held out, and nothing stops.

    Args:
        data: The examples, x (N, ...) and y (N,).
        recipe: The settings of the training.
        generator: Source of randomness.
        objective: The objective of the training, with its loss on held-out examples,
            and its sums over steps.

    Attributes:
        training: The numbers of the examples to train on, ascending, (M,) int64 on the
            CPU.
    """

    def __init__(
        self,
        data: Labeled,
        recipe: Recipe,
        generator: torch.Generator,
        objective: Validated,
    ) -> None:
        held_out = recipe.held_out(len(data))
        n = len(data)
        order = permutation(n, generator) if held_out else torch.arange(n, device="cpu")
        self.training = order[held_out:].sort().values
        self._held_out = order[:held_out].to(data.y.device)
        self._data = data
        self._objective = objective
        self._patience = recipe.patience
        self._best = math.inf
        self._waited = 0
        self._state: Named = {}
        self._sums: dict[str, Any] = {}

    @torch.no_grad()
    def stops(self, model: nn.Module) -> bool:
        """Return whether to stop after this epoch; remember the best weights and objective."""
        if self._patience is None or not len(self._held_out):
            return False
        loss = self._mean_loss(model)
        self._waited += 1
        if loss < self._best:
            self._best = loss
            self._waited = 0
            self._state = detached(named_state(model))
            sums = {
                name: getattr(self._objective, name) for name in self._objective.sums
            }
            self._sums = copy.deepcopy(sums)
        return self._waited >= self._patience

    @torch.no_grad()
    def restore_best(self, model: nn.Module) -> None:
        """Give a model the weights and buffers that were the best, and the objective its sums."""
        if self._state:
            restore(model, self._state)
        for name, value in self._sums.items():
            setattr(self._objective, name, value)

    def _mean_loss(self, model: nn.Module) -> float:
        """Return the mean of the objective's loss over the held-out examples, in eval mode."""
        total = 0.0
        with mode(model, training=False):
            for indices in self._held_out.split(_BATCH):
                x = cast(Tensor, gather(self._data.x, indices))
                y = self._data.y.index_select(0, indices)
                total += len(y) * float(self._objective.validation_loss(model, x, y))
        return total / len(self._held_out)
