"""Heads: one trained model, evaluated with different outputs competing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from probe.counts import Counts
from probe.evaluation import evaluate_each
from probe.examples import Examples
from probe.modes import mode
from scenarios.learners.base import Learner
from scenarios.learners.competing import barred_but, own_task

Head = Literal["single", "multi", "all"]
"""`single`: the classes seen so far; `multi`: those of the example's own task; `all` outputs."""


def counts_by_head(
    learner: Learner, test: Examples, tasks: Sequence[Sequence[int]], classes: int
) -> dict[str, Counts]:
    """Evaluate a learner under every head, in one pass over the test data of all tasks.

    tasks: the classes of every task, learned or not; classes: K. Single-head, all outputs compete
    before any task was learned. Source: Chaudhry 2018, section 2.1.
    """
    device = test.y.device
    seen = [learner.seen] * classes
    barred = {
        "single": barred_but(seen, device) if learner.seen else None,
        "multi": barred_but(own_task(tasks, classes), device),
        "all": None,
    }
    with mode(learner.model, training=False):
        return evaluate_each(learner.scores, test, classes, barred)
