"""Which classes compete for an example: tables of the others, which are barred.

A class that is barred has no part in the softmax of a training, and no chance in a prediction.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def own_task(tasks: Sequence[Sequence[int]], classes: int) -> list[Sequence[int]]:
    """Return for each of the K classes those of the task it is in, none for one in no task.

    tasks: the classes of each; a class in several tasks counts to the last of them.

    >>> own_task([[0, 1], [2]], classes=4)
    [[0, 1], [0, 1], [2], ()]
    """
    own: list[Sequence[int]] = [()] * classes
    for task in tasks:
        for label in task:
            own[label] = task
    return own


def barred_but(competing: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return (K, K) bool: row y says which outputs do not compete for an example of class y.

    competing: for each of the K classes, the classes that do.

    >>> barred_but([[0], [0, 1]], torch.device("cpu")).tolist()
    [[False, True], [False, False]]
    """
    barred = torch.ones(len(competing), len(competing), dtype=torch.bool)
    for label, others in enumerate(competing):
        barred[label, list(others)] = False
    return barred.to(device)
