"""The data-permutation stream of Kemker 2018: the same data, its input elements in other places."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from scenarios.data.datasets import Dataset
from scenarios.streams.split import limited
from scenarios.streams.task import Scenario, Task


def permuted(
    data: Dataset,
    sessions: int = 10,
    seed: int = 0,
    train_limit: int | None = None,
    test_limit: int | None = None,
) -> Scenario:
    """Return sessions of the same classes, each with its own fixed permutation of the inputs.

    Session 1 is the data as they are; in session t > 1 the elements of each input, of all channels
    together, are in the order `permutation(D, t, seed)`, in training and test data alike. Inputs
    keep their shape (N, ...). Sessions are named 1 .. T. Memory: each session but the first is a
    copy of the data. train_limit, test_limit: keep at most that many examples per class, the first.
    Raises InputError for fewer than 2 sessions, or inputs of a single element.
    """
    if sessions < 2:
        raise InputError(f"permuted data need 2 or more sessions, got {sessions}")
    size = data.train.x[0].numel()
    if size < 2:
        raise InputError(
            f"the inputs of {data.name} have {size} element, of which there is one order only: "
            f"permute data of 2 or more"
        )
    data = limited(data, train_limit, test_limit)
    tasks = [_session(data, 1, data.train, data.test)]
    for index in range(2, sessions + 1):
        order = permutation(size, index, seed)
        tasks.append(
            _session(data, index, _reordered(data.train, order), _reordered(data.test, order))
        )
    return Scenario(name=data.name, kind="permutation", tasks=tuple(tasks))


def permutation(size: int, session: int, seed: int) -> Tensor:
    """Return the places (D,) from which session t > 1 takes its D = size elements, int64.

    It depends on nothing else, the number of sessions included, and is the same on every machine.
    """
    return torch.randperm(size, generator=stream(seed, "permutation", session))


def _session(data: Dataset, index: int, train: Examples, test: Examples) -> Task:
    classes = tuple(range(data.classes))
    return Task(index=index, name=str(index), classes=classes, train=train, test=test)


def _reordered(examples: Examples, order: Tensor) -> Examples:
    x = examples.x.flatten(1).index_select(1, order.to(examples.x.device))
    return Examples(x.view_as(examples.x), examples.y)
