"""The data-permutation stream of Kemker 2018: the same data, the input elements reordered."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def permuted(data: Dataset, sessions: int = 10, seed: int = 0) -> Scenario:
    """Return sessions of the same classes, each with its own fixed permutation of the inputs.

    Session 1 is the data as they are; in session t > 1 the elements of each input, of all channels
    together, are in the order `permutation(D, t, seed)`, in training and test data alike. Inputs
    keep their shape (N, ...). Sessions are named 1 .. T. Memory: each session but the first is a
    copy of the data. Raises InputError for fewer than 2 sessions, or inputs of a single element.
    """
    if sessions < 2:
        raise InputError(f"permuted data need 2 or more sessions, got {sessions}")
    size = data.train.x[0].numel()
    if size < 2:
        raise InputError(
            f"the inputs of {data.name} have {size} element, of which there is one order only: "
            f"permute data of 2 or more"
        )
    tasks = tuple(_session(data, index, seed) for index in range(1, sessions + 1))
    return Scenario(name=data.name, kind="permutation", tasks=tasks)


def permutation(size: int, session: int, seed: int) -> Tensor:
    """Return in which order session t > 1 has its D = size input elements, (D,) int64.

    Element i of the session is element order[i] of the data. It depends on nothing else, the number
    of sessions included, and is the same on every machine.

    >>> sorted(permutation(4, session=2, seed=0).tolist())
    [0, 1, 2, 3]
    """
    return torch.randperm(size, generator=stream(seed, "permutation", session))


def _session(data: Dataset, index: int, seed: int) -> Task:
    train, test = data.train, data.test
    # The first is not copied: to permute it by nothing would.
    if index > 1:
        order = permutation(train.x[0].numel(), index, seed)
        train, test = _permuted(train, order), _permuted(test, order)
    classes = tuple(range(data.classes))
    return Task(index=index, name=str(index), classes=classes, train=train, test=test)


def _permuted(examples: Examples, order: Tensor) -> Examples:
    """Return the examples (N, ...) with their D input elements in that order (D,)."""
    # All channels together: an element may move from one channel to another.
    x = examples.x.flatten(1).index_select(1, order.to(examples.x.device))
    return Examples(x.view_as(examples.x), examples.y)
