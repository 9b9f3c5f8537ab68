"""Labeled examples: tensors in memory, or any object that gives rows by index."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Generic, cast

import torch
from torch import Tensor
from typing_extensions import TypeVar

from probe.arguments import checked
from probe.batch import (
    Rows,
    Value,
    check_finite,
    check_value,
    gather,
    kinds,
    like,
    mapped,
    pieces,
    tensors,
)
from probe.errors import InputError
from probe.memory import FileRows, free_memory
from probe.reading.item_format import check_labels
from probe.reading.read import read

_LARGE = 2**25  # bytes of inputs that are not copied for each task

X = TypeVar("X", bound=Value, covariant=True, default=Tensor)


@dataclass(frozen=True, eq=False)
class Labeled:
    """N examples to train or evaluate on.

    Attributes:
        x: Inputs, rows by index or tensors (N, ...).
        y: Labels, (N,) int64, class numbers from 0.
    """

    x: Rows | Value
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Examples(Labeled, Generic[X]):
    """N examples and their labels.

    >>> data = Examples(torch.zeros(3, 8), torch.tensor([0, 1, 0]))
    >>> len(data), len(data.of_classes([0]))
    (3, 2)

    Args:
        x: Inputs, batch first: a tensor (N, ...), passed to a model as `model(x)`, a
            tuple of such tensors, `model(*x)`, or a mapping of them by the names of
            arguments, `model(**x)`.
        y: Labels (N,) int64, class numbers from 0.
        task: Task numbers (N,) int64, from 0; None where the class determines the task.

    Raises:
        InputError: x, y and task do not fit together, or y or task is not int64.
    """

    x: X
    task: Tensor | None = None

    def __post_init__(self) -> None:
        check_value(self.x, "x")
        if isinstance(self.x, Mapping) and not all(
            isinstance(key, str) for key in self.x
        ):
            raise InputError(
                "the keys of x must be names of the model's arguments: use strings"
            )
        check_labels(self.y)
        check_value(self.y, "y")
        if len(tensors(self.x)[0]) != len(self.y):
            raise InputError(
                f"x and y differ in length: got x {kinds(self.x)}, y {kinds(self.y)}"
            )
        task = cast(Any, self.task)
        expected = kinds(self.y)
        got = type(task).__name__
        if isinstance(task, Tensor):
            check_value(task, "task")
            got = kinds(task)
        if task is not None and got != expected:
            raise InputError(
                f"`task` must be a tensor {expected}, got {got}: use torch.as_tensor"
            )

    def changed(self, **fields: Any) -> "AnyExamples":
        """Return the examples with some fields replaced, without checking that they fit."""
        examples: AnyExamples = object.__new__(Examples)
        vars(examples).update({**vars(self), **fields})
        return examples

    @classmethod
    @checked
    def of(
        cls,
        data: object,
        limit: int | None = None,
        *,
        label: str | None = None,
        columns: str | Sequence[str] | None = None,
        item: Sequence[str] | None = None,
        budget: int | None = None,
        scratch: str | PathLike[str] | None = None,
        progress: bool = True,
    ) -> "AnyExamples":
        """Read examples from a data set or loader of torch, Avalanche or Hugging Face.

        Each item is a pair (x, y) of one example, or of a batch if it comes from a
        DataLoader: x as in `Examples` (numpy arrays become tensors), y a whole number.
        Or it is a mapping with a label, such as an item of a Hugging Face data set
        after `set_format("torch")`. Data are read once, in order, and every tensor
        keeps its type, including uint8.

        Args:
            data: The source of the examples.
            limit: The number of examples to read at most, from 1; None = all.
            label: The label's name in a mapping; None = `label` or `labels`.
            columns: The columns that x consists of, if items are mappings; None = all
                but the label. If it is a single name as a string, x is that column and
                not a mapping.
            item: The name of each part of an item that is no pair, such as ("x", "y",
                "task") or ("index", "x", "y"); parts with names other than these three
                are left out.
            budget: Bytes of memory for the examples; None = a third of the free memory.
                Data of unknown length take up to twice their bytes while they are read.
            scratch: A folder for memory-mapped files, for examples that do not fit into
                memory; the files vanish with the process.
            progress: Whether to show a bar, on a terminal or in a notebook.

        Returns:
            The examples, in memory or in a mapped file.

        Raises:
            InputError: The data raise an error, hold no examples, or have another form;
                examples differ in shape or type, labels are not class numbers, or not
                all examples fit.
            NotWritten: The disk is full.

        >>> pairs = [(torch.zeros(8), 0), (torch.ones(8), 1)]
        >>> Examples.of(pairs).x.shape, Examples.of(pairs, limit=1).y
        (torch.Size([2, 8]), tensor([0]))
        """
        x, y = read(data, limit, label, columns, item, budget, scratch, progress)
        if y.ndim == 1:
            return Examples(x, y)
        return Examples(x, *y.T.contiguous())

    def shared(self) -> "Examples[X]":
        """Return the same examples; parts of their large inputs share the memory of these."""
        parts = tensors(self.x)
        if not _are_large(parts) or any(isinstance(x, FileRows) for x in parts):
            return self
        return self.changed(x=mapped(self.x, FileRows.of))

    def take(self, indices: Tensor) -> "Examples[X]":
        """Return the n examples at `indices` (n,), int64 from 0, in that order."""
        return self._with_rows(gather(self.x, indices), indices)

    def part(self, indices: Tensor) -> "Examples[X]":
        """Return the examples as `take` does; inputs in a mapped file stay there."""
        return self._with_rows(mapped(self.x, partial(_unread, indices)), indices)

    def _with_rows(self, x: Value, indices: Tensor) -> "Examples[X]":
        """Return examples with inputs x (n, ...), and the labels and tasks at `indices` (n,)."""
        indices = indices.to(self.y.device)
        examples = self.changed(x=x, y=self.y.index_select(0, indices))
        if self.task is None:
            return examples
        return examples.changed(task=self.task.index_select(0, indices))

    @checked
    def of_classes(self, classes: Iterable[int]) -> "Examples[X]":
        """Return the examples whose label is one of `classes`, in their present order."""
        wanted = torch.tensor(sorted(classes), dtype=torch.int64, device=self.y.device)
        return self.part(torch.isin(self.y, wanted).nonzero().squeeze(1))

    @checked
    def of_task(self, number: int) -> "Examples[X]":
        """Return the examples of a task, in their present order, without its number."""
        if self.task is None:
            raise InputError("the examples have no task: give Examples(x, y, task)")
        return self.part((self.task == number).nonzero()[:, 0]).changed(task=None)

    @checked
    def to(self, device: torch.device) -> "Examples[X]":
        """Return the same examples on `device`, detached from any gradient.

        Inputs that take more than an eighth of a GPU's free memory stay where they are,
        and batches of them are copied to the GPU when they are used.
        """
        y = self.y.to(device)
        x = mapped(self.x, lambda tensor: _move(tensor.detach(), y.device))
        examples = self.changed(x=x, y=y)
        if self.task is None:
            return examples
        return examples.changed(task=self.task.to(device))


def _unread(indices: Tensor, tensor: Tensor) -> Tensor:
    """Return rows of a tensor, those of a mapped file unread."""
    if isinstance(tensor, FileRows):
        return tensor.at(indices)
    return tensor[indices]


AnyExamples = Examples[Any]
"""Examples whose inputs may be one tensor or several."""


def _move(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device, or its rows, which are copied there batch by batch."""
    if tensor.device.type != "cpu" or device.type != "cuda":
        if isinstance(tensor, FileRows):
            return tensor.on(device)
        return tensor.to(device)
    if tensor.nbytes >= _LARGE and tensor.nbytes > free_memory(device) // 8:
        return FileRows.of(tensor).on(device)
    moved = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    for part, piece in zip(pieces(moved), pieces(tensor), strict=True):
        part.copy_(piece)
    return moved


def join(parts: Sequence[Examples[X]]) -> Examples[X]:
    """Concatenate examples with the same kind of x, without their tasks; large inputs stay apart.

    >>> len(join([Examples(torch.zeros(n, 8), torch.zeros(n).long()) for n in (2, 3)]))
    5
    """
    columns = zip(*(tensors(part.x) for part in parts), strict=True)
    x = like(parts[0].x, map(_concatenate, columns))
    return parts[0].changed(x=x, y=torch.cat([part.y for part in parts]), task=None)


def _concatenate(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors, large ones as FileRows that read from each of them."""
    if not _are_large(parts):
        return torch.cat([*parts])
    return torch.cat([FileRows.of(x) for x in parts])


def _are_large(parts: Sequence[Tensor]) -> bool:
    """Return whether tensors on the CPU are too large to be copied."""
    is_on_cpu = all(x.device.type == "cpu" for x in parts)
    return is_on_cpu and sum(x.nbytes for x in parts) >= _LARGE


def check_examples(examples: AnyExamples, classes: Iterable[int], name: str) -> None:
    """Check that there are examples, all finite, with labels from a set of classes.

    Args:
        examples: The examples, x (N, ...) and y (N,).
        classes: The labels that may occur.
        name: The name of the examples in messages.

    Raises:
        InputError: There are no examples, one is not finite, or has a label not in
            `classes`.
    """
    if not len(examples):
        raise InputError(f"{name} has no examples: give at least one")
    check_finite(examples.x, name)
    if strange := sorted(set(examples.y.unique().tolist()) - set(classes)):
        raise InputError(
            f"{name} has labels {strange}, which are in no task: add or remove them"
        )


def match_inputs(
    train: AnyExamples, test: AnyExamples
) -> tuple[AnyExamples, AnyExamples]:
    """Bring the inputs of two sets of examples into the same order, if they have names.

    Args:
        train: Examples to train on, whose inputs may be reordered.
        test: Examples to test on.

    Returns:
        The examples to train on and to test on.

    Raises:
        InputError: Training and test examples differ in their tensors.
    """
    mappings = isinstance(train.x, Mapping) and isinstance(test.x, Mapping)
    if mappings and train.x.keys() == test.x.keys():
        train = train.changed(x={name: train.x[name] for name in test.x})
    in_train = kinds(mapped(train.x, lambda tensor: tensor[:1][0]))
    in_test = kinds(mapped(test.x, lambda tensor: tensor[:1][0]))
    if in_train != in_test:
        raise InputError(
            f"an example of train is {in_train}, of test {in_test}: make them equal"
        )
    return train, test
