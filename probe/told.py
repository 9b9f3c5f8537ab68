"""Networks that are told the task of each example: own heads, or outputs of the task's classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from probe.batch import Value, gather, mapped, tensors
from probe.cut.model_call import explained, logits_of
from probe.errors import InputError
from probe.examples import Examples
from probe.model import Model
from probe.modules import kept_buffers, mode
from probe.numbered import Numbered
from probe.seeding import every_global_stream, stream
from probe.training.evaluation import barred_but

_TASK = "task"  # its name in inputs that have names


def told(
    model: Model, given: Numbered, network: Callable[[], nn.Module], orders: Iterable[str] = ()
) -> tuple[Model, Numbered]:
    """Return a model that is told the task, and examples whose inputs hold the task's number.

    Only the classes of an example's task compete, in training too. A model that is not told the
    task is returned as it is, with its examples. network: returns one of the model's, on which a
    call that takes the task is tried, and which is left unchanged; orders: of the runs. Raises
    InputError for a call that takes the task of one example for a whole batch, for tasks of one
    class, and where several orders leave open the number that a call is given.
    """
    if not model.told:
        return model, given
    if alone := [task[0] for task in given.classes if len(task) == 1]:
        raise InputError(
            f"told the task, class {alone[0]} is always right, as its task has no other: give "
            f"tasks of two or more classes, or a single head"
        )
    if model.takes_task and given.order is None and len(set(orders) - {""}) > 1:
        raise InputError(
            "call takes the number of the task, which is open for tasks given by their classes in "
            "several orders: give each example its task, Examples(x, y, task)"
        )
    order = given.order or range(len(given.classes))
    by_number = [given.classes[order.index(number)] for number in range(len(order))]
    numbers = torch.tensor(order)

    def own(network: nn.Module, x: Value, task: Tensor) -> Tensor:
        if not model.takes_task:
            return model.class_call(network, x)
        logits = logits_of(cast(Any, model.call)(network, x, task), model.output)
        return logits if model.classes is None else logits[:, list(model.classes)]

    halves = {
        name: replace(half, x=_with(half.x, numbers[given.numbers(name)].to(half.y.device)))
        for name, half in given.halves.items()
    }
    call = among(own, by_number, given.known)
    if model.takes_task:
        _refuse_one_for_all(network(), call, halves["test"].x)
    called = replace(model, call=call, output=None, head="multi", classes=None)
    return called, replace(given, halves=halves)


def among(
    call: Callable[[nn.Module, Value, Tensor], Tensor], classes: Sequence[Sequence[int]], known: int
) -> Callable[[nn.Module, Value], Tensor]:
    """Return a call by which only the classes of an example's task compete; known: K."""
    barred = barred_but(classes, known, torch.device("cpu"))

    def told(network: nn.Module, x: Value) -> Tensor:
        value, task = _apart(x)
        logits = call(network, value, task)
        if logits.shape[1:] != barred.shape[1:]:
            return logits  # which whoever calls refuses
        # Finite, so that two models can be compared.
        return logits.masked_fill(barred.to(task.device)[task], torch.finfo(logits.dtype).min)

    return told


def _refuse_one_for_all(
    network: nn.Module, call: Callable[[nn.Module, Value], Tensor], x: Value
) -> None:
    """Raise InputError if an example's logits depend on the task of another one in its batch."""
    if any(map(is_lazy, network.parameters())):
        return  # it would get its shapes here, and with them its weights
    task, device = tensors(x)[-1], next((p.device for p in network.parameters()), None)
    for other in (task != task[0]).nonzero()[:1, 0].tolist():
        both, alone = (
            mapped(gather(x, task.new_tensor(at)), lambda each: each.to(device or each.device))
            for at in ([0, other], [other])
        )
        chance, still = every_global_stream(stream(0, "check")), kept_buffers(network)
        with torch.no_grad(), mode(network, training=False), still, chance, explained(both):
            found, expected = call(network, both)[1:], call(network, alone)
        if found.shape == expected.shape and not found.allclose(expected, rtol=1e-2, atol=1e-3):
            raise InputError(
                "call takes the task of one example for the whole batch: choose the head of each "
                "example, as by torch.stack(outputs)[task, torch.arange(len(task))]"
            )


def with_number(half: Examples[Any], number: int) -> Examples[Any]:
    """Return the examples of one task with its number in their inputs."""
    return replace(half, x=_with(half.x, torch.full_like(half.y, number)))


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
