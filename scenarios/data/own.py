"""User-defined data: the result of a user's function as examples."""

from typing import Any

import torch

from probe.errors import InputError, described, located
from probe.examples import Examples, alike
from probe.record.data import examples_of
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
        halves = [examples_of(each, n) for each, n in zip(given, ("train", "test"), strict=True)]
        if not all(map(len, halves)):
            raise InputError("train or test holds no examples")
        if known.class_order:
            # A label becomes its position in the order.
            positions = torch.zeros(1 + max(known.class_order), dtype=torch.int64)
            positions[list(known.class_order)] = torch.arange(len(known.class_order))
            kept = [each.of_classes(known.class_order) for each in halves]
            halves = [Examples(each.x, positions[each.y]) for each in kept]
        return alike(*halves)
