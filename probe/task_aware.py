"""Networks that use the task of each example: by a head per task, or by the task's outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from probe.batch import Value, gather, mapped, tensors
from probe.cut.model_call import explained, logits_of
from probe.errors import InputError
from probe.examples import AnyExamples
from probe.model import Model
from probe.modules import device_of, kept_state, mode
from probe.seeding import every_global_stream, stream
from probe.tasked_examples import TaskedExamples
from probe.training.evaluation import Logits, barred_but
from probe.training.fresh_weights import Factory

_TASK = "task"  # its name in inputs that have names


def make_task_aware(
    model: Model, examples: TaskedExamples, network: Factory, orders: Iterable[str] = ()
) -> tuple[Model, TaskedExamples]:
    """Put the number of the task into the inputs, so that only the task's classes compete.

    The same applies to training. A model that is not task-aware is returned unchanged,
    with its examples.

    Args:
        model: The model, with the call of its networks.
        examples: The data, with the task of each example.
        network: Function that returns a network of the model. A call that takes the
            task is tried on this network, which is left unchanged.
        orders: The names of the task orders of all runs.

    Returns:
        A model whose inputs include the number of the task, and examples with such
        inputs.

    Raises:
        InputError: The call uses the task of one example for a whole batch, a task has
            one class, or there are several orders and the examples have no task
            numbers.
    """
    if not model.task_aware:
        return model, examples
    _check_tasks(model, examples, orders)
    order = examples.order or range(len(examples.classes))
    classes_by_number = [
        examples.classes[order.index(number)] for number in range(len(order))
    ]
    numbers = torch.tensor(order, device="cpu")
    splits = {}
    for name, split in examples.splits.items():
        task = numbers[examples.numbers(name)].to(split.y.device)
        splits[name] = append_task(split, task)
    call = restrict_to_task(
        partial(_class_logits, model), classes_by_number, examples.n_classes
    )
    if model.call_is_task_aware:
        _check_batches(network(), call, splits["test"].x)
    aware = replace(model, call=call, output=None, head="multi", classes=None)
    return aware, replace(examples, splits=splits)


def _check_tasks(model: Model, examples: TaskedExamples, orders: Iterable[str]) -> None:
    """Raise InputError if a task has one class, or the call's task ids are not known."""
    if single := [task[0] for task in examples.classes if len(task) == 1]:
        raise InputError(
            f"class {single[0]} is the only one of its task, so always right: "
            "give tasks of two or more classes, or a single head"
        )
    has_numbers = examples.order is not None or len(set(orders) - {""}) < 2
    if model.call_is_task_aware and not has_numbers:
        raise InputError(
            "`call` takes the task id: in several orders, give Examples(x, y, task)"
        )


def _class_logits(model: Model, network: nn.Module, x: Value, task: Tensor) -> Tensor:
    """Return the logits of the classes, by a call that may take the task."""
    if not model.call_is_task_aware:
        return model.class_call(network, x)
    logits = logits_of(cast(Any, model.call)(network, x, task), model.output)
    if model.classes is None:
        return logits
    return logits[:, list(model.classes)]


def restrict_to_task(
    call: Logits, tasks: Sequence[Sequence[int]], classes: int
) -> Logits:
    """Return a call in which only the classes of an example's task compete.

    Args:
        call: Function that gives the logits of K classes for a network, inputs, and the
            number of each example's task.
        tasks: The classes of each task.
        classes: Number of classes K.

    Returns:
        The call, for inputs that include the number of the task.
    """
    barred = barred_but(tasks, classes, torch.device("cpu"))

    def restricted(network: nn.Module, x: Value) -> Tensor:
        """Return logits (B, K), the lowest number for classes of other tasks."""
        inputs, task = _without_task(x)
        logits = call(network, inputs, task)
        if logits.shape[1:] != barred.shape[1:]:
            return logits  # the caller raises the error
        # Finite, so that two models can be compared.
        return logits.masked_fill(
            barred.to(task.device)[task], torch.finfo(logits.dtype).min
        )

    return restricted


def _check_batches(network: nn.Module, call: Logits, x: Value) -> None:
    """Raise InputError if an example's logits depend on the task of another one in its batch."""
    if any(map(is_lazy, network.parameters())):
        return  # a call would initialize it
    _, task = _without_task(x)
    device = device_of(network, task.device)
    for other in (task != task[0]).nonzero()[:1, 0].tolist():
        rows = task.new_tensor([0, other])
        pair = mapped(gather(x, rows), lambda tensor: tensor.to(device))
        single = mapped(pair, lambda tensor: tensor[1:])
        with (
            torch.no_grad(),
            mode(network, training=False),
            kept_state(network),
            every_global_stream(stream(0, "check")),
            explained(pair),
        ):
            logits = call(network, pair)[1:]
            expected = call(network, single)
        if logits.shape == expected.shape and not logits.allclose(
            expected, rtol=1e-2, atol=1e-3
        ):
            raise InputError(
                "`call` takes the task of one example for the whole batch: choose "
                "each example's, as by torch.stack(outputs)[task, range(len(task))]"
            )


def append_task(examples: AnyExamples, task: Tensor | int) -> AnyExamples:
    """Append the task id of each example to its input.

    Args:
        examples: The examples.
        task: The task ids (N,), or one for all examples.

    Returns:
        The examples with the extended inputs.

    Raises:
        InputError: An input already has the name of the task id.
    """
    x = examples.x
    numbers = task
    if isinstance(task, int):
        numbers = torch.full_like(examples.y, task)
    if not isinstance(x, Mapping):
        return examples.changed(x=(*tensors(x), numbers))
    if _TASK in x:
        raise InputError(
            "x has an input `task`, which is reserved for the task id: rename it"
        )
    return examples.changed(x={**x, _TASK: numbers})


def _without_task(x: Value) -> tuple[Any, Tensor]:
    """Return inputs, and the task numbers that `append_task` added to them."""
    if isinstance(x, Mapping):
        inputs = dict(x)
        task = inputs.pop(_TASK)
        return inputs, task
    *columns, task = tensors(x)
    if len(columns) == 1:
        return columns[0], task
    return tuple(columns), task
