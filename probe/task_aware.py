"""Networks that use the task of each example: by a head per task, or by the task's outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from probe.batch import Value, gather, mapped, tensors
from probe.cut.model_call import explained, logits_of
from probe.errors import InputError
from probe.examples import AnyExamples
from probe.model import Model
from probe.modules import kept_buffers, mode
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
    if single := [task[0] for task in examples.classes if len(task) == 1]:
        raise InputError(
            f"class {single[0]} is the only one of its task, so always right: "
            "give tasks of two or more classes, or a single head"
        )
    if (
        model.call_is_task_aware
        and examples.order is None
        and len(set(orders) - {""}) > 1
    ):
        raise InputError(
            "`call` takes the task id: in several orders, give Examples(x, y, task)"
        )
    order = examples.order or range(len(examples.classes))
    classes_by_number = [
        examples.classes[order.index(number)] for number in range(len(order))
    ]
    numbers = torch.tensor(order, device="cpu")

    def class_logits(network: nn.Module, x: Value, task: Tensor) -> Tensor:
        if not model.call_is_task_aware:
            return model.class_call(network, x)
        logits = logits_of(cast(Any, model.call)(network, x, task), model.output)
        return logits if model.classes is None else logits[:, list(model.classes)]

    splits = {
        name: append_task(split, numbers[examples.numbers(name)].to(split.y.device))
        for name, split in examples.splits.items()
    }
    call = restrict_to_task(class_logits, classes_by_number, examples.n_classes)
    if model.call_is_task_aware:
        _check_batches(network(), call, splits["test"].x)
    aware = replace(model, call=call, output=None, head="multi", classes=None)
    return aware, replace(examples, splits=splits)


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
        task = x[_TASK] if isinstance(x, Mapping) else tensors(x)[-1]
        logits = call(network, _without_task(x), task)
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
        return  # it would get its shapes here, and with them its weights
    task, device = tensors(x)[-1], next((p.device for p in network.parameters()), None)
    for other in (task != task[0]).nonzero()[:1, 0].tolist():
        pair, single = (
            mapped(gather(x, task.new_tensor(rows)), lambda t: t.to(device or t.device))
            for rows in ([0, other], [other])
        )
        with (
            torch.no_grad(),
            mode(network, training=False),
            kept_buffers(network),
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
    numbers = torch.full_like(examples.y, task) if isinstance(task, int) else task
    if not isinstance(x, Mapping):
        return examples.changed(x=(*tensors(x), numbers))
    if _TASK in x:
        raise InputError(
            "x has an input `task`, which is reserved for the task id: rename it"
        )
    return examples.changed(x={**x, _TASK: numbers})


def _without_task(x: Value) -> Any:
    """Return inputs without the task numbers that `append_task` added."""
    if isinstance(x, Mapping):
        return {name: tensor for name, tensor in x.items() if name != _TASK}
    *columns, _ = tensors(x)
    return columns[0] if len(columns) == 1 else tuple(columns)
