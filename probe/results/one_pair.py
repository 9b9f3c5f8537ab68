"""One network before and one after, given to `analyze`, which is for tasks learned in turn."""

from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager

import numpy as np
from torch import nn

from probe.errors import InputError
from probe.tables.matrices import Matrices
from probe.tasked_examples import Tasks
from probe.tasks import Scenario

_REMEDY = "for one network before and one after use probe.diff(before, after, old, new)"
_PAIR = 2
# The share, of what a constant answer gets wrong, that only a trained network gets right.
_ROOM = 0.6
_ROOM_OF_ONE_TASK = 0.2  # the same for a single task, of which nothing is forgotten
_LOST = 0.05  # of accuracy: a control may be as good as the last network


@contextmanager
def explained_pair(networks: object, train: object, tasks: Tasks) -> Iterator[None]:
    """Name `probe.diff` in every InputError within the block, if two networks have no tasks.

    Args:
        networks: The networks that the user gives.
        train: The second argument of the user.
        tasks: The tasks that the user gives.
    """
    try:
        yield
    except InputError as error:
        if type(error) is not InputError or not _is_pair(networks, train, tasks):
            raise
        raise InputError(f"{error}; {_REMEDY}") from error.__cause__


def _is_pair(networks: object, train: object, tasks: Tasks) -> bool:
    """Return whether two networks are given otherwise than by the number of tasks learned."""
    values = [*networks.values()] if isinstance(networks, Mapping) else networks
    if not isinstance(values, list | tuple) or len(values) != _PAIR:
        return isinstance(train, nn.Module)
    has_seeds = any(isinstance(network, Mapping) for network in values)
    by_tasks_seen = networks if isinstance(networks, Mapping) else {}
    T = len(tasks) if isinstance(tasks, Sized) else 0
    return not has_seeds and (T < _PAIR or T not in by_tasks_seen)


def trained_floor(matrices: Matrices, scenario: Scenario) -> Iterator[str]:
    """Yield a warning for each learner whose row 0 cannot be of an untrained network.

    On some task it is clearly better than any constant answer and than the last row.
    With a single task, better than any constant answer is enough.

    Args:
        matrices: The accuracy matrices of the learners.
        scenario: The tasks.
    """
    constant = _constant_accuracy(scenario)
    is_single = matrices.tasks == 1
    room = _ROOM_OF_ONE_TASK if is_single else _ROOM
    for learner in matrices.learners:
        accuracies = matrices.R(learner).values
        floor = accuracies[0]
        last = accuracies[-1]
        is_trained = floor > constant + room * (1 - constant)
        suspects = np.flatnonzero(is_trained & ((floor > last + _LOST) | is_single))
        if len(suspects):
            j = suspects[0]
            yield (
                "network 0 is taken as untrained, but is right on "
                f"{floor[j]:.1%} of task {j + 1}, where the last network is right on "
                f"{last[j]:.1%}: {_REMEDY}"
            )


def _constant_accuracy(scenario: Scenario) -> float:
    """Return the highest accuracy of a constant answer on a task."""
    labels = [task.test.y for task in scenario.tasks]
    return max(float(y.bincount().max() / len(y)) for y in labels)
