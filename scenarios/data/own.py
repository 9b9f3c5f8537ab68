"""User-defined data: the result of a user's function as examples."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from probe.errors import InputError, described, located
from probe.examples import Examples, match_inputs
from probe.extensions import DataEntry
from probe.seeding import every_global_stream, stream
from probe.tasked_examples import as_examples

_HALVES = ("train", "test")


def read_own(known: DataEntry) -> tuple[Examples[Any], Examples[Any]]:
    """Return the training and the test data of a user's function.

    A list of (train, test), one a task, becomes examples with their task. It draws the same random
    numbers every time, and leaves the global generators as they were. Raises InputError if it
    fails, or gives anything but two sets of examples of one kind.
    """
    try:
        with every_global_stream(stream(0, "data")):
            given: Any = known.load()
    except (InputError, KeyboardInterrupt):
        raise
    # Any error of the user's code, SystemExit among them.
    except BaseException as error:
        raise InputError(
            f"{known.name} raised {described(error)}: give a function without arguments that "
            f"returns (train, test)"
        ) from error
    listed = isinstance(given, list) and len(given) > 0 and all(map(_is_pair, given))
    # Of two tasks the brackets alone tell (train, test) from a list of such pairs.
    unclear = isinstance(given, list) and any(isinstance(own, list) for own in given)
    if not listed and (unclear or not isinstance(given, tuple | list) or len(given) != 2):
        raise InputError(
            f"{known.name} must return (train, test), got {type(given).__name__}: give each as "
            f"Examples, a Dataset, a pair (x, y) or a list of these; or a list of tuples (train, "
            f"test), one a task"
        )
    with located(known.name):
        if listed:
            given = [[as_examples(own[at], n) for own in given] for at, n in enumerate(_HALVES)]
        halves = [as_examples(each, n) for each, n in zip(given, _HALVES, strict=True)]
        if not all(map(len, halves)):
            raise InputError("train or test holds no examples")
        if known.class_order:
            halves = [in_order(each, known.class_order) for each in halves]
        return match_inputs(*halves)


def in_order(half: Examples[Any], class_order: Sequence[int]) -> Examples[Any]:
    """Return the examples of some classes, each labeled by its position in the order."""
    positions = torch.zeros(1 + max(class_order), dtype=torch.int64)
    positions[list(class_order)] = torch.arange(len(class_order))
    kept = half.of_classes(class_order)
    return replace(kept, y=positions[kept.y])


def _is_pair(given: Any) -> bool:
    """Return whether this is (train, test), and not a pair (x, y)."""
    pair = isinstance(given, tuple) and len(given) == 2
    return pair and not isinstance(given[1], torch.Tensor | np.ndarray)
