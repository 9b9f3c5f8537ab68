"""User-defined data: the result of a user's function as examples."""

from typing import Any

import numpy as np
import torch

from probe.errors import InputError, described, located
from probe.examples import Examples, alike
from probe.registered import OwnData
from probe.seeding import every_global_stream, stream


def read_own(known: OwnData) -> tuple[Examples[Any], Examples[Any]]:
    """Return the training and the test data of a user's function.

    It draws the same random numbers every time, and leaves the global generators as they were.
    Raises InputError if it fails, or gives anything but two sets of examples of one kind.
    """
    try:
        with every_global_stream(stream(0, "data")):
            given = known.load()
    except (InputError, KeyboardInterrupt):
        raise
    # Any error of the user's code, SystemExit among them.
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
            # A label becomes its position in the order.
            positions = torch.zeros(1 + max(known.class_order), dtype=torch.int64)
            positions[list(known.class_order)] = torch.arange(len(known.class_order))
            kept = [each.of_classes(known.class_order) for each in halves]
            halves = [Examples(each.x, positions[each.y]) for each in kept]
        return alike(*halves)


def _half(given: object, name: str) -> Examples[Any]:
    """Return examples, a data set or a pair (x, y) as one or more examples."""
    with located(name):
        found = _examples(given)
        if not len(found):
            raise InputError("it holds no examples")
        if int(found.y.min()) < 0:
            raise InputError("it has a label below 0: labels are class numbers 0..K-1")
        return found


def _examples(given: object) -> Examples[Any]:
    match given:
        case Examples():
            return given
        case [x, torch.Tensor() | np.ndarray() as y]:
            labels = torch.as_tensor(y)
            if labels.is_floating_point() or labels.is_complex():
                raise InputError(
                    f"its labels are {labels.dtype}: labels are class numbers, give whole numbers"
                )
            return Examples(torch.as_tensor(x) if isinstance(x, np.ndarray) else x, labels.long())
    return Examples.of(given)
