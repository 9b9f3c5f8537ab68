"""Task orders: the sequences in which the tasks of a stream are learned."""

import re
from collections.abc import Mapping, Sequence

import torch

from probe.errors import InputError
from probe.seeding import stream

MOST = 10_000
"""The most sessions, orders or seeds of a study."""


def orders(rule: str | Mapping[str, Sequence[int]], tasks: int) -> dict[str, tuple[int, ...]]:
    """Return the task orders of a study.

    Args:
        rule: `rotate` (all T rotations, named by their number), `none` (only the base order),
            `shuffle:N` (N shuffles, the same on every machine), or tasks, from 1, by order's name.
        tasks: T, the number of tasks.

    Returns:
        The orders by name, each of T tasks, from 0 in the base order.

    Raises:
        InputError: The rule is another, or an order does not name each task once.

    >>> orders("rotate", 3)
    {'0': (0, 1, 2), '1': (1, 2, 0), '2': (2, 0, 1)}
    >>> orders({"back": [3, 2, 1]}, 3)
    {'back': (2, 1, 0)}
    """
    base = tuple(range(tasks))
    if not isinstance(rule, str):
        for name, listed in rule.items():
            if sorted(listed) != [task + 1 for task in base]:
                raise InputError(f"order {name!r} must name each of 1 to {tasks} once: {listed}")
        return {name: tuple(task - 1 for task in listed) for name, listed in rule.items()}
    if rule == "none":
        return {"0": base}
    if rule == "rotate":
        return {str(k): base[k:] + base[:k] for k in base}
    # At most nine digits, as `int` of a million takes long.
    count = re.fullmatch("shuffle:([0-9]{1,9})", rule)
    if count is None or not 1 <= int(count[1]) <= MOST:
        raise InputError(f"unknown orders {rule!r}: give rotate, none or shuffle:N, N up to {MOST}")
    # Each from its own stream, so that more shuffles leave the first as they are.
    shuffles = (torch.randperm(tasks, generator=stream(k, "order")) for k in range(int(count[1])))
    return {str(k): tuple(order.tolist()) for k, order in enumerate(shuffles)}
