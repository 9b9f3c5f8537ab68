"""What a model returns: the tensors in it, and the one that holds the logits."""

import dataclasses
from collections.abc import Mapping

from torch import Tensor

from probe.errors import InputError
from probe.modules import tensors_in

Output = str | int | None
"""Where in the model's output the logits are: a key or attribute, a position, None = it is they."""


def logits_of(output: object, where: Output) -> Tensor:
    """Return the logits (B, K) in what a model returned.

    A tensor is taken as it is: some models return more than the logits in training mode only.
    Raises InputError, naming what there is, if no tensor is found there.

    >>> import torch
    >>> logits_of({"logits": torch.ones(2), "loss": None}, "logits")
    tensor([1., 1.])
    """
    parts = _parts(output)
    if where is None or isinstance(output, Tensor):
        found = output
    elif isinstance(output, (tuple, list)) and isinstance(where, int):
        found = output[where] if -len(output) <= where < len(output) else None
    else:
        # By key or field; what has neither may still have an attribute of that name.
        found = parts.get(where, getattr(output, str(where), None))
    if isinstance(found, Tensor):
        return found
    kind = type(output).__name__
    choices = ", ".join(repr(key) for key, part in parts.items() if isinstance(part, Tensor))
    remedy = f"name the logits with output= one of {choices}" if choices else "return a tensor"
    got = "" if where is None else f" and {where!r} in it is no tensor"
    raise InputError(f"the model returns {kind}{got}, expected one tensor of logits: {remedy}")


def tensors_of(output: object) -> list[Tensor]:
    """Return the tensors, of any shape, in an output: in tuples, lists, dicts and dataclasses."""
    if dataclasses.is_dataclass(output) and not isinstance(output, (dict, tuple, type)):
        return tensors_in(_parts(output))
    return tensors_in(output)


def _parts(output: object) -> Mapping[str | int, object]:
    """Return the parts of an output by the keys, attributes or positions that name them."""
    if isinstance(output, dict):
        return output
    if dataclasses.is_dataclass(output):
        return {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    return dict(enumerate(output)) if isinstance(output, (tuple, list)) else {}
