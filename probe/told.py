"""Networks that are told the task of each example: own heads, or outputs of the task's classes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.cut.model_call import logits_of
from probe.errors import InputError
from probe.model import Model
from probe.numbered import Numbered

_TASK = "task"  # its name in inputs that have names


def told(model: Model, given: Numbered) -> tuple[Model, Numbered]:
    """Return a model that is told the task, and examples whose inputs hold the task's number.

    Only the classes of an example's task compete, in training too. A model that is not told the
    task is returned as it is, with its examples.
    """
    if not model.told:
        return model, given
    order = given.order or range(len(given.classes))
    barred = torch.ones(len(given.classes), given.known, dtype=torch.bool)
    for number, classes in zip(order, given.classes, strict=True):
        barred[number, list(classes)] = False
    numbers = torch.tensor(order)

    def own(network: nn.Module, x: Value) -> Tensor:
        value, task = _apart(x)
        if model.takes_task:
            logits = logits_of(cast(Any, model.call)(network, value, task), model.output)
            logits = logits if model.classes is None else logits[:, list(model.classes)]
        else:
            logits = model.class_call(network, value)
        if logits.shape[1:] != barred.shape[1:]:
            return logits  # which whoever calls refuses
        # Finite, so that two models can be compared.
        return logits.masked_fill(barred.to(task.device)[task], torch.finfo(logits.dtype).min)

    halves = {
        name: replace(half, x=_with(half.x, numbers[given.numbers(name)].to(half.y.device)))
        for name, half in given.halves.items()
    }
    called = replace(model, call=own, output=None, head="multi", classes=None)
    return called, replace(given, halves=halves)


def _with(x: Value, task: Tensor) -> Value:
    """Return inputs with the number of each example's task, (N,)."""
    if not isinstance(x, Mapping):
        return (*x, task) if isinstance(x, tuple) else (x, task)
    if _TASK in x:
        raise InputError("x has an input named task, the name of the task's number: rename it")
    return {**x, _TASK: task}


def _apart(x: Value) -> tuple[Any, Tensor]:
    """Return the inputs that `_with` was given, and the tasks' numbers."""
    if isinstance(x, Mapping):
        return {name: own for name, own in x.items() if name != _TASK}, x[_TASK]
    *parts, task = cast(tuple[Tensor, ...], x)
    return parts[0] if len(parts) == 1 else tuple(parts), task
