"""What a learner does beside training is part of what it spent."""

from __future__ import annotations

from scenarios.learners.base import Learner
from tests.scenarios.learners.tiny_learners import digits, learner

TASK = digits(10).tasks[0]


def spent(own: Learner) -> int:
    return own.learn(TASK).ops


def elementwise(own: Learner) -> int:
    """The steps, times the parameters, times the learner's own work for each."""
    steps = own.recipe.epochs * -(-len(TASK.train) // own.recipe.batch_size)
    return steps * sum(p.numel() for p in own.model.parameters()) * own.elementwise


def test_the_elementwise_work_is_added_by_its_formula() -> None:
    plain = spent(learner("finetune"))
    for kind in ("si", "ewc_online", "rwalk"):
        own = learner(kind)
        assert elementwise(own) > 0
        assert spent(own) == plain + elementwise(own), kind


def test_the_fisher_s_pass_is_spent_too() -> None:
    own = learner("ewc")
    cost = own.learn(TASK)
    rest = cost.ops - spent(learner("finetune")) - elementwise(own)
    # A pass of single examples, and what it takes to see that it may be trusted.
    assert cost.ops_one_pass <= rest < 1.5 * cost.ops_one_pass
