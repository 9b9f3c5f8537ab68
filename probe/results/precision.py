"""The choice of precision for `auto`, measured once for a run directory and saved in it."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from probe.batch import first
from probe.examples import Examples
from probe.files import make_folder, write_text
from probe.locks import lock
from probe.modules import copied
from probe.results.run_directory import PRECISION, refuse_foreign
from probe.seeding import stream
from probe.training.loop import fit
from probe.training.recipe import Recipe

_STEPS = 4
_TURNS = 2
_GAIN = 1.2  # the least ratio of times at which bf16 is chosen


def resolve_precision(
    recipe: Recipe,
    model: nn.Module,
    data: Examples,
    device: torch.device,
    root: Path | None,
) -> Recipe:
    """Return a recipe with `fp32` or `bf16` in place of `auto`.

    The first run on a directory chooses for all that resume, extend or share it.

    Args:
        recipe: A recipe.
        model: A model that maps x (B, ...) of the N examples to logits (B, K).
        data: Training examples.
        device: The device of the training.
        root: The run directory, None = there is none.

    Raises:
        InputError: The folder is not a run directory.
    """
    if recipe.precision != "auto":
        return recipe
    if root is None:
        return replace(
            recipe,
            precision=cast(
                Any,
                _faster(
                    recipe,
                    model,
                    data,
                    device,
                ),
            ),
        )
    refuse_foreign(root)
    make_folder(root)
    with lock(root, wait=True):
        path = root / PRECISION
        if not path.exists():
            write_text(
                path,
                _faster(
                    recipe,
                    model,
                    data,
                    device,
                ),
            )
        return replace(recipe, precision=cast(Any, path.read_text("utf-8").strip()))


def _faster(
    recipe: Recipe, model: nn.Module, data: Examples, device: torch.device
) -> str:
    """Return the precision, fp32 or bf16, in which retraining steps are faster on a device."""
    if device.type == "cuda":
        here = torch.cuda.is_available()  # nothing is known of other machines' GPUs
        return "bf16" if here and torch.cuda.is_bf16_supported(False) else "fp32"
    batch = Examples(first(data.x, recipe.batch_size), data.y[: recipe.batch_size]).to(
        device
    )
    fp32, bf16 = (
        seconds(
            model,
            batch,
            replace(recipe.of_epochs(_STEPS), precision=cast(Any, precision)),
        )
        for precision in ("fp32", "bf16")
    )
    return "bf16" if fp32 >= _GAIN * bf16 else "fp32"


def seconds(model: nn.Module, batch: Examples, recipe: Recipe) -> float:
    """Measure the processor time of a few steps of a copy of the model.

    Args:
        model: The model.
        batch: A batch to train on.
        recipe: The settings of the training.

    Returns:
        The seconds, the smallest value of several repetitions.
    """
    twin = copied(model).to(batch.y.device)
    taken = []
    for parameter in twin.parameters():
        parameter.requires_grad_(parameter.is_floating_point())
    for _ in range(_TURNS):
        start = time.process_time()
        fit(
            twin,
            batch,
            recipe,
            stream(0, "precision"),
        )
        taken.append(time.process_time() - start)
    return min(taken)
