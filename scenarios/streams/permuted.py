"""The data-permutation stream of Kemker 2018: the same data, the input elements reordered."""

import torch
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def permuted(data: Dataset, sessions: int = 10, seed: int = 0) -> Scenario:
    """Return 2 or more sessions of the same classes, each with a fixed permutation of the inputs.

    Session 1 is the data; in session t > 1 the elements of each input, of all channels together,
    are in the order `permutation(D, t, seed)`, in training and test data alike. Sessions are named
    1 .. T, and each but the first is a copy in memory. Raises InputError for inputs of a single
    element.
    """
    size = data.train.x[0].numel()
    if size < 2:
        raise InputError(
            f"the inputs of {data.name} have {size} element, which has only one order: "
            f"permute data of 2 or more"
        )
    classes, tasks = tuple(range(data.classes)), []
    for index in range(1, sessions + 1):
        train, test = data.train, data.test
        if index > 1:
            order = permutation(size, index, seed).to(data.train.y.device)
            train, test = (
                Examples(half.x.flatten(1).index_select(1, order).view_as(half.x), half.y)
                for half in (train, test)
            )
        tasks.append(Task(index=index, name=str(index), classes=classes, train=train, test=test))
    return Scenario(name=data.name, kind="permutation", tasks=tuple(tasks))


def permutation(size: int, session: int, seed: int) -> Tensor:
    """Return the order (D,) of the D = size input elements in session t > 1.

    Element i of the session is element order[i] of the data, on every machine, whatever the number
    of sessions.

    >>> sorted(permutation(4, session=2, seed=0).tolist())
    [0, 1, 2, 3]
    """
    return torch.randperm(size, generator=stream(seed, "permutation", session))
