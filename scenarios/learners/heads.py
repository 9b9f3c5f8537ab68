"""Heads: one trained model, evaluated with different outputs competing."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from probe.metrics.task_counts import TaskCounts
from probe.modules import mode
from probe.training.evaluation import predict_each
from scenarios.learners.base import Learner
from scenarios.learners.competing_classes import barred_but, own_task
from scenarios.streams.task import Scenario

Head = Literal["single", "multi", "all"]
"""`single`: the classes seen so far; `multi`: those of the example's own task; `all` outputs."""


def counts_by_head(learner: Learner, scenario: Scenario) -> dict[str, TaskCounts]:
    """Evaluate a learner under every head, in one pass over the test data of all tasks.

    The scenario is as the learner sees it; it may have tasks not yet learned. Single-head, all
    outputs compete before any task was learned. A learner that must be told the task has the head
    `multi` alone. Source: Chaudhry 2018, section 2.1.
    """
    test, classes = scenario.test, scenario.classes
    device = test.y.device
    tasks = [task.classes for task in scenario.tasks]
    barred: dict[str, Tensor | None] = {"multi": barred_but(own_task(tasks, classes), device)}
    if not learner.task_aware:
        seen = barred_but([learner.seen] * classes, device) if learner.seen else None
        barred = {"single": seen, **barred, "all": None}
    with mode(learner.model, training=False):
        predicted = predict_each(learner.scores, test, classes, barred)
    return {name: count(scenario, labels) for name, labels in predicted.items()}


def count(scenario: Scenario, predicted: Tensor) -> TaskCounts:
    """Count predictions (N,) for the test data of all tasks of a scenario."""
    sizes = [len(task.test) for task in scenario.tasks]
    tasks = [task.classes for task in scenario.tasks]
    true = scenario.test.y.cpu()
    return TaskCounts.of(true, predicted.cpu(), sizes, tasks, scenario.classes)
