"""The remedy for labels that are not one class number for each example."""

import torch
from torch import Tensor

from probe.batch import kinds
from probe.errors import InputError

_ONE = (
    "one class of each example can be measured, no multi-label, regression or segmentation targets"
)


def check_labels(y: object) -> None:
    """Raise InputError unless labels are an int64 vector (N,)."""
    if isinstance(y, Tensor) and y.ndim == 1 and y.dtype == torch.int64:
        return
    got, remedy = type(y).__name__, "number the classes from 0, and give torch.as_tensor(y)"
    if isinstance(y, Tensor):
        got, remedy = kinds(y), remedy_for(y)
    raise InputError(f"labels must be an int64 vector (N,), got {got}: {remedy}")


def is_whole(y: object) -> bool:
    """Return whether labels are a tensor of whole numbers by its type."""
    return isinstance(y, Tensor) and not y.is_floating_point() and not y.is_complex()


def remedy_for(y: Tensor) -> str:
    """Return the remedy for labels (N, ...) that are not N class numbers, the end of a sentence.

    >>> remedy_for(torch.ones(3, 1))
    'give y.flatten().long() if these are class numbers'
    """
    whole = not y.is_complex() and torch.equal(y.double(), y.double().round())
    if whole and y.numel() == len(y):
        return "give y.flatten().long() if these are class numbers"
    if y.ndim == 2 and bool((((y == 0) | (y == 1)).all(1) & (y.sum(1) == 1)).all()):
        return f"give y.long().argmax(1) if these are one-hot vectors; {_ONE}"
    return _ONE
