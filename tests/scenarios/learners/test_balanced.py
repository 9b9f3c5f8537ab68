"""Balanced replay: every class of a batch weighs the same in the loss."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from scenarios.learners.continual import ContinualLearner
from tests.scenarios.learners.tiny_learners import digits, learner, weights

TASKS = digits(10).tasks


def midst(balanced: bool) -> ContinualLearner:
    """A learner that has learned one task, with exemplars, and begun the second."""
    own = learner("finetune", exemplars={"per_class": 2, "balanced": balanced})
    assert isinstance(own, ContinualLearner)
    own.learn(TASKS[0])
    own.begin(TASKS[1])
    return own


def batch() -> tuple[Tensor, Tensor]:
    # Ten examples of each new class, one and two of the old ones.
    y = torch.tensor([2] * 10 + [3] * 10 + [0] + [1] * 2)
    return 3 * torch.randn(len(y), 10, generator=torch.Generator().manual_seed(0)), y


def test_the_loss_is_the_mean_over_classes_of_each_classs_mean() -> None:
    scores, y = batch()
    each = functional.cross_entropy(scores.double(), y, reduction="none")
    by_class = torch.stack([each[y == c].mean() for c in y.unique()]).mean()
    by_example = each.mean()
    assert abs(by_class - by_example) > 0.05
    assert torch.isclose(midst(True).classification(scores, y).double(), by_class, rtol=1e-5)
    assert torch.isclose(midst(False).classification(scores, y).double(), by_example, rtol=1e-5)


def test_a_single_example_weighs_one() -> None:
    scores, y = batch()
    own = midst(True)
    for k in (0, 20):
        loss = own.classification(scores[k : k + 1], y[k : k + 1])
        assert torch.equal(loss, functional.cross_entropy(scores[k : k + 1], y[k : k + 1]))


def test_it_changes_nothing_until_there_are_exemplars() -> None:
    plain, balanced = (
        learner("finetune", exemplars={"per_class": 2, "balanced": b}) for b in (False, True)
    )
    for own in (plain, balanced):
        own.learn(TASKS[0])
    assert all(map(torch.equal, weights(plain), weights(balanced)))
    for own in (plain, balanced):
        own.learn(TASKS[1])
    assert not all(map(torch.equal, weights(plain), weights(balanced)))
