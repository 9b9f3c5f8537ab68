"""Test examples and their labels, as tensors."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from torch import Tensor
from torch.utils.data import TensorDataset

from probe.batch import Value, check_finite, check_value, length, tensors
from probe.errors import InputError, located
from probe.examples import Examples
from probe.reading.item_format import pair
from probe.rewinding.scoring import Pair, Score

LABELS = ("label", "labels", "y")
"""The names of labels in a mapping of tensors."""


def has_classes(y: Value) -> bool:
    """Return whether labels are one whole number, from 0 on, for each example."""
    return _is_whole(y) and int(y.min()) >= 0


def _is_whole(y: Value) -> TypeGuard[Tensor]:
    """Return whether labels are one whole number for each example."""
    return isinstance(y, Tensor) and y.ndim == 1 and not y.is_floating_point()


def as_pair(data: Any, name: str, score: Score = "accuracy") -> Pair:
    """Read examples.

    Args:
        data: A pair (x, y), a mapping of tensors with a label, a Dataset, a DataLoader
            or `Examples`.
        name: The name of the examples in messages.
        score: The score, which says whether whole numbers are classes.

    Raises:
        InputError: They have another form, are not finite, or are fewer than 2.
    """
    if isinstance(data, TensorDataset) and len(data.tensors) == 2:
        data = data.tensors
    if isinstance(data, Examples):
        data = data.x, data.y
    if isinstance(data, Mapping):
        data = _pair_in(data, name)
    if isinstance(data, tuple | list) and len(data) == 2:
        x, y = pair(*data)
    else:
        with located(name):
            examples = Examples.of(data)
        x = examples.x
        y = examples.y
    check_value(x, f"x of {name}")
    check_value(y, f"y of {name}")
    inputs = length(x)
    labels = length(y)
    if inputs != labels or labels < 2:
        sizes = f"{inputs} inputs and {labels} labels"
        raise InputError(f"{name} has {sizes}: give equally many, 2 or more")
    check_finite(x, name)
    if score == "squared_error" and _is_whole(y):
        y = y.float()
    _check_labels(y, name, score)
    return x, y


def _check_labels(y: Any, name: str, score: Score) -> None:
    """Raise InputError for labels or targets that are not finite, real, or classes from 0 on."""
    check_finite(y, f"y of {name}")
    if any(map(Tensor.is_complex, tensors(y))):
        raise InputError(f"y of {name} is complex: give classes, or real numbers")
    if _is_whole(y) and not callable(score) and int(y.min()) < 0:
        raise InputError(
            f"{name} has the label {int(y.min())}, expected classes from 0 on"
        )


def _pair_in(columns: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], Any]:
    """Return inputs and labels of a mapping of tensors."""
    labels = [column for column in columns if column in LABELS]
    if len(labels) != 1:
        got = ", ".join(map(str, columns)) or "nothing"
        raise InputError(
            f"{name} is a mapping of {got}: name one of them {' or '.join(LABELS)}"
        )
    inputs = {name: value for name, value in columns.items() if name != labels[0]}
    return inputs, columns[labels[0]]
