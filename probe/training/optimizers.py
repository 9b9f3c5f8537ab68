"""Optimizers by name: their steps, learning rates and costs."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from probe.training.recipe import Recipe

# Fused, one kernel updates all parameters; of Nadam torch has none.
_OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, fused=True),
    "nadam": partial(torch.optim.NAdam, foreach=True),
    "sgd": partial(torch.optim.SGD, fused=True),
}
_KERNELS = {"adam": torch._fused_adam_, "adamw": torch._fused_adamw_}


def updates(
    trained: Sequence[Tensor],
    recipe: Recipe,
    steps: int,
) -> Callable[[], None]:
    """Return a function that takes the next step of a training, with a new optimizer.

    It clips the gradients as the recipe says. Parameters in half precision have copies
    in fp32 that are updated: small steps would be rounded away, and Adam's epsilon is 0
    in float16.

    Args:
        trained: The parameters to change.
        recipe: The settings of the training.
        steps: The number of steps of the training.

    Returns:
        The function.
    """
    rates = (rate_at(recipe, step, steps) for step in range(steps))
    precise_of = {p: _in_full_precision(p) for p in trained}
    precise = list(precise_of.values())
    copies = {p: copy for p, copy in precise_of.items() if copy is not p}
    kinds = {(p.device, p.dtype) for p in precise}
    plain = len(kinds) == 1 and not any(kind.is_complex for _, kind in kinds)
    make_step = _adam if plain and recipe.optimizer in _KERNELS else _from_torch
    step_at = make_step(precise, recipe)

    @torch.no_grad()
    def step() -> None:
        for p, copy in copies.items():
            # An objective may have changed the parameter.
            copy.copy_(copy.where(copy.to(p.dtype) == p, p.to(copy.dtype)))
            copy.grad = None if p.grad is None else p.grad.to(copy.dtype)
        if recipe.clip_norm is not None:
            # On the device only: the host does not wait for the norm.
            nn.utils.clip_grad_norm_(precise, recipe.clip_norm)
        step_at(next(rates))
        for p, copy in copies.items():
            p.copy_(copy)

    return step


def _in_full_precision(parameter: Tensor) -> Tensor:
    """Return a parameter, or a copy in fp32 if it is in half precision."""
    kind = torch.promote_types(parameter.dtype, torch.float)
    return parameter if kind == parameter.dtype else parameter.detach().to(kind)


def _from_torch(trained: Sequence[Tensor], recipe: Recipe) -> Callable[[float], None]:
    """Return a function that takes a step at a given rate with an optimizer of torch."""
    extra: dict[str, Any] = {}
    if recipe.optimizer == "sgd":
        extra["momentum"] = recipe.momentum
    # Fused kernels only take real numbers.
    if recipe.optimizer != "nadam" and any(p.is_complex() for p in trained):
        extra |= {"fused": False, "foreach": True}
    optimizer = _OPTIMIZERS[recipe.optimizer](
        trained,
        lr=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        **extra,
    )

    def step(rate: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()

    return step


def _adam(trained: Sequence[Tensor], recipe: Recipe) -> Callable[[float], None]:
    """Return a function that takes a step of Adam or AdamW at a given rate, by torch's kernel.

    All parameters must have one type and device. `torch.optim` takes twice as long if
    there are few parameters, and imports the compiler.
    """
    states: dict[Tensor, tuple[Tensor, Tensor, Tensor]] = {}
    kernel = partial(
        _KERNELS[recipe.optimizer],
        weight_decay=recipe.weight_decay,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        amsgrad=False,
        maximize=False,
    )

    @torch.no_grad()
    def step(rate: float) -> None:
        moved = [p for p in trained if p.grad is not None]
        for p in moved:
            if p not in states:
                zero = torch.zeros((), device=p.device)
                states[p] = torch.zeros_like(p), torch.zeros_like(p), zero
        if moved:
            means, squares, steps = zip(*(states[p] for p in moved), strict=True)
            torch._foreach_add_(steps, 1)
            kernel(
                moved,
                [p.grad for p in moved],
                means,
                squares,
                [],
                steps,
                lr=rate,
            )

    return step


def rate_at(
    recipe: Recipe,
    step: int,
    steps: int,
) -> float:
    """Return the learning rate of one step of a training.

    A constant rate is exactly the recipe's. With W warm-up steps, the rate rises from 1
    / (W + 1) of the recipe's in the first step to all of it in the step after the
    warm-up. A cosine schedule falls from there, and would reach 0 in the step after the
    last.

    Args:
        recipe: The settings of the training.
        step: The step, 0 to steps - 1.
        steps: The number of steps of the training.

    Returns:
        The learning rate.

    >>> recipe = Recipe(learning_rate=1.0, schedule="cosine", warmup=0.2)
    >>> [round(rate_at(recipe, step, 5), 3) for step in range(5)]
    [0.5, 1.0, 0.854, 0.5, 0.146]
    """
    warm = round(recipe.warmup * steps)
    if step < warm:
        return recipe.learning_rate * (step + 1) / (warm + 1)
    if recipe.schedule == "constant":
        return recipe.learning_rate
    progress = (step - warm) / (steps - warm)
    return recipe.learning_rate * (1 + math.cos(math.pi * progress)) / 2


def optimizer_ops(recipe: Recipe) -> int:
    """Return the multiply-adds per parameter of one step of the recipe's optimizer, by formula.

    Every multiplication, division and root counts as one, with the addition beside it.
    Adam and AdamW: two for the first moment, three for the second, a root, a division
    and the step; Nadam: the same, with a division and a step for the gradient of its
    own; SGD: the step. Weight decay and momentum take one more each, and clipping two:
    a square for the norm, and a factor.
    """
    step = {
        "adam": 8,
        "adamw": 8,
        "nadam": 10,
        "sgd": 1,
    }[recipe.optimizer]
    clipping = 2 * (recipe.clip_norm is not None)
    return step + bool(recipe.weight_decay) + bool(recipe.momentum) + clipping
