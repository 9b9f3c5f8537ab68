"""A user's own data: what their function returns, as examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probe.errors import InputError, described, located
from probe.examples import Examples, alike
from probe.registered import OwnData
from probe.seeding import every_global_stream, stream


def read_own(known: OwnData) -> tuple[Examples[Any], Examples[Any]]:
    """Return the training and the test data that a user's function gives.

    Random numbers that it draws are the same every time, and the global generators are as before
    afterwards. Raises InputError if it fails, or for anything but two sets of examples that look
    alike.
    """
    try:
        with every_global_stream(stream(0, "data")):
            given = known.load()
    except (InputError, KeyboardInterrupt):
        raise
    # Whatever the user's code raises, SystemExit among it, is the user's to correct.
    except BaseException as error:
        raise InputError(
            f"{known.name} raised {described(error)}: give a function without arguments that "
            f"returns (train, test)"
        ) from error
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(
            f"{known.name} must return (train, test), got {type(given).__name__}: give each as "
            f"Examples, a Dataset or a pair (x, y)"
        )
    with located(known.name):
        halves = [_half(each, n) for each, n in zip(given, ("train", "test"), strict=True)]
        if known.class_order:
            halves = [_reordered(each, known.class_order) for each in halves]
        return alike(*halves)


def _reordered(examples: Examples[Any], order: Sequence[int]) -> Examples[Any]:
    """Return the examples of the labels in `order`, each with its place there for a label."""
    kept = examples.of_classes(order)
    places = torch.zeros(1 + max(order), dtype=torch.int64)
    places[list(order)] = torch.arange(len(order))
    return Examples(kept.x, places[kept.y])


def _half(given: object, name: str) -> Examples[Any]:
    """Return examples, a data set or a pair (x, y) as examples, of which there are some."""
    with located(name):
        found = _examples(given)
        if not len(found):
            raise InputError("it holds no examples")
        if int(found.y.min()) < 0:
            raise InputError("it has a label below 0: labels are class numbers 0..K-1")
        return found


def _examples(given: object) -> Examples[Any]:
    if isinstance(given, Examples):
        return given
    if isinstance(given, tuple | list) and len(given) == 2:
        x, y = given
        if isinstance(y, torch.Tensor | np.ndarray):
            x = torch.as_tensor(x) if isinstance(x, np.ndarray) else x
            return Examples(x, _whole(torch.as_tensor(y)))
    return Examples.of(given)


def _whole(y: Tensor) -> Tensor:
    """Return labels as int64; raises InputError where that could change one."""
    if y.is_floating_point() or y.is_complex():
        raise InputError(f"its labels are {y.dtype}: labels are class numbers, give whole numbers")
    return y.long()
