"""How a network is trained: the one loop that learners, tails and probes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.errors import InputError
from probe.examples import Labelled, gather
from probe.modules import mode
from probe.seeding import global_stream
from probe.training.costs import OpsMeter
from probe.training.memory_format import faster_layout
from probe.training.recipe import Recipe


class Objective:
    """What one step minimizes, and what happens around it; plain cross-entropy unless overridden.

    The four steps are called in this order for every batch. x: (B, ...), y: (B,) labels.
    """

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the batch to learn from: the new examples, with any replayed ones appended."""
        return x, y

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the scalar loss of `model` on the batch."""
        return functional.cross_entropy(model(x), y)

    def after_backward(self, model: nn.Module) -> None:
        """Read or change the gradients before the optimizer's step."""

    def after_step(self, model: nn.Module) -> None:
        """Read or change the parameters after the optimizer's step."""


def fit(
    model: nn.Module,
    data: Labelled,
    recipe: Recipe,
    generator: torch.Generator,
    objective: Objective | None = None,
    meter: OpsMeter | None = None,
) -> None:
    """Train `model` in place on `data` (N examples on the model's device) with a fresh optimizer.

    Every epoch visits each example once in an order drawn from `generator`; randomness inside the
    model (dropout) follows from it too. Only parameters that require gradients move. A meter is
    shown every step and changes nothing. Raises InputError if the loss is no longer finite, saying
    in which epoch.
    """
    steps = objective or Objective()
    metered = meter.step if meter else nullcontext
    optimizer = _optimizer(model, recipe)
    device = data.y.device
    with (
        torch.enable_grad(),
        mode(model, training=True),
        faster_layout(model, data),
        global_stream(generator),
    ):
        for epoch in range(recipe.epochs):
            total = torch.zeros((), device=device)
            for indices in _batches(len(data), recipe.batch_size, generator, device):
                # An objective sees what its data hold; a tuple only where a tail is trained.
                x = cast(Tensor, gather(data.x, indices))
                with metered(len(indices)):
                    batch = steps.batch(x, data.y.index_select(0, indices))
                    total += _step(model, batch, recipe, optimizer, steps)
            # One look an epoch: NaN and Inf stay in the sum, and a GPU is not stopped every step.
            if not torch.isfinite(total):
                raise InputError(
                    f"training diverged: the loss is not finite in epoch {epoch + 1} of "
                    f"{recipe.epochs}; lower learning_rate ({recipe.learning_rate:g})"
                )


def _step(
    model: nn.Module,
    batch: tuple[Tensor, Tensor],
    recipe: Recipe,
    optimizer: torch.optim.Optimizer,
    steps: Objective,
) -> Tensor:
    """Take one step and return the loss before it."""
    x, y = batch
    with torch.autocast(y.device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        loss = steps.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    steps.after_backward(model)
    optimizer.step()
    steps.after_step(model)
    return loss.detach()


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if recipe.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=recipe.learning_rate, fused=True)
    if recipe.optimizer == "nadam":
        return torch.optim.NAdam(parameters, lr=recipe.learning_rate, foreach=True)
    return torch.optim.SGD(parameters, lr=recipe.learning_rate, fused=True)


def optimizer_ops(recipe: Recipe) -> int:
    """Return the multiply-adds per parameter of one step of the recipe's optimizer, by formula.

    Every multiplication, division and root counts as one, with the addition beside it. Adam: two
    for the first moment, three for the second, a root, a division and the step; Nadam: the same,
    with a division and a step for the gradient of its own; SGD: the step.
    """
    return {"adam": 8, "nadam": 10, "sgd": 1}[recipe.optimizer]


def _batches(
    n: int, size: int, generator: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    order = torch.randperm(n, generator=generator).to(device)
    # A last batch of one example would stop batch norm: it joins the batch before it.
    cut = n - 1 if n > size > 1 and n % size == 1 else n
    *full, last = order[:cut].split(size)
    yield from full
    yield torch.cat([last, order[cut:]])
