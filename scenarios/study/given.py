"""Networks of a job that are given as files: a learner takes their weights, and learns nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from probe.errors import InputError
from probe.record.state_files import fit_state, load_state
from scenarios.learners.base import Learner
from scenarios.learners.given_network import GivenNetwork
from scenarios.networks import bare
from scenarios.streams.task import Task
from scenarios.study.fingerprint import tensor_hash


def take(learner: Learner, file: GivenNetwork, past: Sequence[Task]) -> None:
    """Give a learner the weights of a file; past: the tasks that its network has learned.

    Raises InputError for a file that cannot be read, is not as it was when the study began, or
    does not fit the network.
    """
    load_into(learner.model, file)
    learner.restore({}, past)


def load_into(model: nn.Module, file: GivenNetwork) -> None:
    """Give a network, in place, the weights of a file; raises as `take` does."""
    state = load_state(Path(file.path))
    if tensor_hash(state) != file.hash:
        raise InputError(
            f"{file.path} is not what it was when this began: put the file back, or run the same "
            f"command again"
        )
    fit_state(bare(model)[0], state, file.path)
