"""Items of datasets and loaders, an example or a batch, as inputs and labels."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from probe.batch import Value, is_dense, kinds, mapped, tensors
from probe.errors import InputError, unknown

Batch = tuple[Value, Tensor]
"""Inputs of n examples, each tensor (n, ...), and their labels (n,), int64."""

_NUMBERS = "?bhilqBHILQefdFD"  # numpy's types that torch has too
_ONE = (
    "examples must have one class each, no multi-label, regression or segmentation "
    "targets"
)


def as_batch(
    batched: bool | None,
    has_tasks: bool,
    label: str | None,
    columns: str | Sequence[str] | None,
    names: Sequence[str] | None,
    item: object,
) -> Batch:
    """Convert an item of some data into a batch.

    Args:
        batched: Whether items are batches; None = derive it from their labels.
        has_tasks: Whether task labels follow x and y, as in Avalanche; they are
            dropped.
        label: The name of the labels where items are mappings; None = `label` or
            `labels`.
        columns: The names in x where x is a mapping; None = all but the label. If it is
            a single name as a string, x is that column.
        names: The name of each part of an item: x, y, task, or any other for what is
            left out.
        item: An example, or a batch of them.

    Returns:
        Inputs and labels; these are (n, 2), with the numbers of tasks, if a part is the
        task.

    Raises:
        InputError: The item is neither an example nor a batch.
    """
    parts = {}
    if names is None:
        inputs, labels = _pair(item, label, has_tasks)
    else:
        parts = _named_parts(item, names)
        inputs, labels = parts["x"], parts["y"]
    if columns is not None:
        if not isinstance(inputs, Mapping):
            raise InputError(
                f"x is a {type(inputs).__name__} without columns: leave out columns="
            )
        names = [columns] if isinstance(columns, str) else columns
        for name in names:
            if name not in inputs:
                raise unknown("column", name, map(str, inputs))
        chosen = {name: inputs[name] for name in names}
        inputs = chosen[columns] if isinstance(columns, str) else chosen
    x = _value(inputs)
    y = _labels(labels, batched)
    is_example = y.ndim == 0
    if "task" in parts:
        y = torch.stack([y, _labels(parts["task"], batched)], -1)
    if is_example:
        return mapped(x, lambda tensor: tensor[None]), y[None]
    if wrong := [tuple(t.shape) for t in tensors(x) if t.ndim < 1 or len(t) != len(y)]:
        raise InputError(
            f"got {len(y)} labels, but x of shape {wrong[0]}: give one for each row"
        )
    return x, y


def _named_parts(item: object, names: Sequence[str]) -> dict[str, object]:
    """Return the parts of an item by their names; raises InputError unless the names fit."""
    count = len(item) if isinstance(item, tuple | list) else 0
    if (
        not isinstance(names, Sequence)
        or [len(names), len(set(names))] != [count, count]
        or not {"x", "y"} <= set(names)
    ):
        raise InputError(
            f"item={names} must name x, y and every other part, each once, got {count} parts"
        )
    return dict(zip(names, cast(Sequence[object], item), strict=True))


def _pair(item: object, label: str | None, has_tasks: bool) -> tuple[object, object]:
    """Return the input and the label of an item; raises InputError if it has no clear label."""
    if isinstance(item, Mapping):
        if label is None:
            labels = [name for name in ("label", "labels") if name in item]
            if len(labels) != 1:
                names = ", ".join(map(str, item)) or "no columns"
                raise InputError(
                    f"cannot tell which of {names} is the label: name it with label="
                )
            label = labels[0]
        if label not in item:
            raise unknown("column", label, map(str, item))
        inputs = {name: column for name, column in item.items() if name != label}
        return inputs, item[label]
    if label is not None:
        raise InputError(
            f"got label={label!r}, but the data have no names: leave it out"
        )
    parts = item if isinstance(item, tuple | list) else ()
    if len(parts) == 2 or (has_tasks and len(parts) > 2):
        return parts[0], parts[1]
    for part in (item, *parts):
        refuse_graph(part)
    many = f" of {len(parts)}" if isinstance(item, tuple | list) else ""
    what = (
        f"a {type(item).__name__}{many} is neither a pair (x, y) nor a mapping with a "
        "label"
    )
    remedy = "wrap the data so that they give pairs, several inputs as ((a, b), y)"
    if len(parts) > 2:
        remedy = "say which part is which: Examples.of(data, item=('x', 'y', 'task'))"
    raise InputError(f"{what}: {remedy}")


def pair(x: object, y: Any) -> tuple[Value, Any]:
    """Return x and y of many examples as `Examples` takes them, without copying arrays.

    Args:
        x: Tensors or arrays of numbers, (N, ...).
        y: Labels (N,), whole numbers; others are returned unchanged, and `Examples`
            refuses them.

    Raises:
        InputError: x is anything else.
    """
    if isinstance(y, list) and all(isinstance(label, int | np.integer) for label in y):
        y = np.asarray(y)
    labels = _tensor(y) if _is_array(y) else y
    return _value(x), labels.long() if is_whole(labels) else labels


def same_form(x: Value, first: Value) -> Value:
    """Return a batch x with its tensors in the order of the first batch's.

    Args:
        x: The batch.
        first: x of the first batch.

    Raises:
        InputError: Its examples have other names, shapes or types.
    """
    if (
        isinstance(x, Mapping)
        and isinstance(first, Mapping)
        and x.keys() == first.keys()
    ):
        x = {name: x[name] for name in first}
    if _signature(x) != _signature(first):
        # The form of one example, made anew, as there may be none in the batch.
        got, expected = (
            kinds(mapped(value, lambda tensor: tensor.new_empty(tensor.shape[1:])))
            for value in (x, first)
        )
        raise InputError(
            f"x is {got}, but {expected} in earlier examples: give all the same form"
        )
    return x


def _signature(x: Value) -> tuple[object, ...]:
    """Return what all batches must have alike: names, and types and shapes of an example."""
    names = tuple(x) if isinstance(x, Mapping) else isinstance(x, Tensor)
    return names, *((tensor.dtype, tensor.shape[1:]) for tensor in tensors(x))


def _value(x: object) -> Value:
    """Return x as tensors; raises InputError if it holds anything else."""
    if isinstance(x, Mapping):
        strange = {
            name: type(value).__name__
            for name, value in x.items()
            if not _is_array(value)
        }
        if strange:
            listed = ", ".join(f"{name!r} ({kind})" for name, kind in strange.items())
            raise InputError(
                f"columns of x hold no tensors, {listed}: choose others: "
                "Examples.of(data, columns=...), or dataset.set_format('torch')"
            )
        value: Value = {name: _tensor(column) for name, column in x.items()}
    elif isinstance(x, tuple | list):
        value = tuple(map(_tensor, x))
    else:
        return _tensor(x)
    if not value:
        raise InputError("x is empty: give a tensor, or several")
    return value


def refuse_graph(item: object) -> None:
    """Raise InputError for a graph of PyTorch Geometric, whose tensors have no common length."""
    if hasattr(item, "edge_index"):
        raise InputError(
            "graphs have no row for each example: pad them to one size, and give "
            "x=(nodes, adjacency), with call= for a network of other arguments (see "
            "torch_geometric.utils.to_dense_batch and to_dense_adj)"
        )


def _is_array(part: object) -> bool:
    """Return whether an object is a tensor, or an array or scalar of numpy's numbers."""
    numbers = isinstance(part, np.ndarray | np.generic) and part.dtype.char in _NUMBERS
    return numbers or isinstance(part, Tensor)


def _tensor(part: Any) -> Tensor:
    """Return a tensor or array as a dense tensor without a gradient; its values are not copied.

    Raises InputError for anything else.
    """
    if not _is_array(part):
        refuse_graph(part)
        raise InputError(
            f"x has type {type(part).__name__}, expected tensors: use ToTensor"
        )
    if np.ma.isMaskedArray(part):
        raise InputError(
            "x or y is a masked array: leave such examples out, or fill it"
        )
    if not isinstance(part, Tensor):
        # A copy of an array whose bytes are in an order that torch does not know.
        native = np.require(
            part, dtype=part.dtype.newbyteorder("="), requirements=["C"]
        )
        with warnings.catch_warnings():
            # Of a read-only array, which nothing writes into.
            warnings.simplefilter("ignore")
            return torch.from_numpy(native)
    if not is_dense(part):
        raise InputError(
            "x or y is a sparse, nested, masked or quantized tensor: pad it, or give "
            "x.to_dense(), x.to_tensor(0) or x.dequantize()"
        )
    return part.detach()


def _labels(y: object, batched: bool | None) -> Tensor:
    """Return labels as int64: () of an example, (n,) of a batch."""
    # A number of Python's counts as an array of numpy's.
    array = np.asarray(y) if isinstance(y, int) else y
    if not _is_array(array):
        raise InputError(
            f"a label is of type {type(y).__name__}, expected a whole number: number "
            "the classes"
        )
    labels = _tensor(array)
    expected = (0, 1) if batched is None else (int(batched),)
    if labels.ndim in expected and is_whole(labels):
        return labels.long()
    what = "one whole number for each example" if batched else "one whole number"
    remedy = remedy_for(labels if batched else labels[None])
    raise InputError(f"labels are {kinds(labels)}, expected {what}: {remedy}")


def check_labels(y: object) -> None:
    """Check that labels are an int64 vector (N,).

    Args:
        y: The labels.

    Raises:
        InputError: The labels are anything else.
    """
    got = type(y).__name__
    remedy = "number the classes from 0, and give torch.as_tensor(y)"
    if isinstance(y, Tensor):
        if y.ndim == 1 and y.dtype == torch.int64:
            return
        got = kinds(y)
        remedy = remedy_for(y)
    raise InputError(f"labels must be an int64 vector (N,), got {got}: {remedy}")


def is_whole(y: object) -> bool:
    """Return whether labels are a tensor of whole numbers by its type."""
    return isinstance(y, Tensor) and not y.is_floating_point() and not y.is_complex()


def remedy_for(y: Tensor) -> str:
    """Return the remedy for labels (N, ...) that are not N class numbers, the end of a sentence.

    >>> remedy_for(torch.ones(3, 1))
    'give y.flatten().long() if these are class numbers'
    """
    if not is_dense(y) or not y.ndim:
        return _ONE
    finite = not y.is_complex() and bool(y.isfinite().all())
    if finite and torch.equal(y.double(), y.double().round()) and y.numel() == len(y):
        return "give y.flatten().long() if these are class numbers"
    if y.ndim == 2 and bool((((y == 0) | (y == 1)).all(1) & (y.sum(1) == 1)).all()):
        return f"give y.long().argmax(1) if these are one-hot vectors; {_ONE}"
    return _ONE
