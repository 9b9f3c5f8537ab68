"""What a model returns: the tensors in it, and the one that holds the logits."""

from __future__ import annotations

import dataclasses

from torch import Tensor

from probe.errors import InputError
from probe.modules import tensors_in

Output = str | int | None
"""Where in the model's output the logits are: a key or attribute, a position, None = it is they."""


def logits_of(output: object, where: Output) -> Tensor:
    """Return the logits in what a model returned; raises InputError if they are not there.

    A tensor is taken as it is: some models return more than the logits in training mode only.

    >>> import torch
    >>> logits_of({"logits": torch.ones(2), "loss": None}, "logits")
    tensor([1., 1.])
    """
    found = output if where is None or isinstance(output, Tensor) else _part(output, where)
    if isinstance(found, Tensor):
        return found
    kind = type(output).__name__
    choices = ", ".join(map(repr, _choices(output)))
    remedy = f"name the logits with output= one of {choices}" if choices else "return a tensor"
    got = "" if where is None else f" and {where!r} in it is no tensor"
    raise InputError(f"the model returns {kind}{got}, expected one tensor of logits: {remedy}")


def tensors_of(output: object) -> list[Tensor]:
    """Return the tensors in an output: in tuples, lists, dicts and dataclasses, in order."""
    if dataclasses.is_dataclass(output) and not isinstance(output, (dict, tuple, type)):
        return tensors_in([getattr(output, field.name) for field in dataclasses.fields(output)])
    return tensors_in(output)


def _part(output: object, where: str | int) -> object:
    if isinstance(output, dict):
        return output.get(where)
    if isinstance(output, (tuple, list)) and isinstance(where, int):
        return output[where] if -len(output) <= where < len(output) else None
    return getattr(output, where, None) if isinstance(where, str) else None


def _choices(output: object) -> list[str | int]:
    if isinstance(output, dict):
        return [key for key, part in output.items() if isinstance(part, Tensor)]
    if dataclasses.is_dataclass(output):
        names = [field.name for field in dataclasses.fields(output)]
        return [name for name in names if isinstance(getattr(output, name), Tensor)]
    if isinstance(output, (tuple, list)):
        return [at for at, part in enumerate(output) if isinstance(part, Tensor)]
    return []
