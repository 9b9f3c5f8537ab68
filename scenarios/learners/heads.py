"""Heads: the outputs that compete, in training and in evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from probe.metrics.task_counts import TaskCounts
from probe.modules import mode
from probe.training.evaluation import predict_each
from scenarios.learners.base import Learner
from scenarios.streams.task import Scenario

Head = Literal["single", "multi", "all"]
"""`single`: the classes seen so far; `multi`: those of the example's own task; `all` outputs."""


def predictions_by_head(learner: Learner, scenario: Scenario) -> dict[str, Tensor]:
    """Predict the classes of all tasks' test data under every head, (N,) each, in one pass.

    scenario: as the learner sees it, tasks not yet learned included. Before any task, all outputs
    compete single-head. A task-aware learner has the head `multi` alone. Source: Chaudhry 2018,
    section 2.1.
    """
    test, classes = scenario.test, scenario.classes
    device = test.y.device
    tasks = [task.classes for task in scenario.tasks]
    barred: dict[str, Tensor | None] = {"multi": barred_but(own_task(tasks, classes), device)}
    if not learner.task_aware:
        seen = barred_but([learner.seen] * classes, device) if learner.seen else None
        barred = {"single": seen, **barred, "all": None}
    with mode(learner.model, training=False):
        return predict_each(learner.scores, test, classes, barred)


def count(scenario: Scenario, predicted: Tensor) -> TaskCounts:
    """Count predictions (N,) for the test data of all tasks of a scenario."""
    sizes = [len(task.test) for task in scenario.tasks]
    tasks = [task.classes for task in scenario.tasks]
    true = scenario.test.y.cpu()
    return TaskCounts.of(true, predicted.cpu(), sizes, tasks, scenario.classes)


def own_task(tasks: Sequence[Sequence[int]], classes: int) -> list[Sequence[int]]:
    """Return for each of the K classes those of its task (the last, of several), () without one.

    >>> own_task([[0, 1], [2]], classes=4)
    [[0, 1], [0, 1], [2], ()]
    """
    own: list[Sequence[int]] = [()] * classes
    for task in tasks:
        for label in task:
            own[label] = task
    return own


def barred_but(competing: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return (K, K) bool: the outputs in row y that do not compete for an example of class y.

    competing: for each of the K classes, those that do.

    >>> barred_but([[0], [0, 1]], torch.device("cpu")).tolist()
    [[False, True], [False, False]]
    """
    barred = torch.ones(len(competing), len(competing), dtype=torch.bool)
    for label, others in enumerate(competing):
        barred[label, list(others)] = False
    return barred.to(device)
