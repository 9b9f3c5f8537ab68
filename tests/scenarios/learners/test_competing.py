"""Which outputs compete in the training's loss: against numpy, and what that leaves alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional

from probe.training.loop import Recipe
from scenarios.learners.continual import ContinualLearner
from scenarios.learners.heads import barred_but
from tests.scenarios.learners.tiny_learners import digits, learner, settings, weights

K = 10
RECIPE = Recipe(epochs=1, batch_size=16)
TASKS = digits(10).tasks


def after(tasks: int, competing: str, **given: object) -> ContinualLearner:
    """Return a learner in the midst of a task, that many learned before it."""
    own = learner("finetune", recipe=RECIPE, competing=competing, **given)
    assert isinstance(own, ContinualLearner)
    for task in TASKS[:tasks]:
        own.learn(task)
    own.begin(TASKS[tasks])
    return own


def by_hand(scores: Tensor, y: Tensor, competing: list[list[int]]) -> float:
    """Return the mean of -log of the softmax over each example's competing outputs, in float64."""
    losses = []
    for row, label in zip(scores.double().numpy(), y.tolist(), strict=True):
        among = row[competing[label]]
        losses.append(np.log(np.exp(among - row[label]).sum()))
    return float(np.mean(losses))


def batch(classes: range) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    y = torch.tensor([c for c in classes for _ in range(3)])
    return 3 * torch.randn(len(y), K, generator=draw), y


# Two tasks were learned, 0-1 and 2-3; the third, 4-5, is at hand, with replayed examples of both.
SEEN = [[0, 1, 2, 3, 4, 5]] * 6
OWN = [[0, 1], [0, 1], [2, 3], [2, 3], [4, 5], [4, 5]]


@pytest.mark.parametrize(
    ("competing", "among"), [("seen", SEEN), ("task", OWN), ("all", [list(range(K))] * 6)]
)
def test_the_loss_is_the_cross_entropy_among_what_competes(
    competing: str, among: list[list[int]]
) -> None:
    scores, y = batch(range(6))
    loss = after(2, competing).classification(scores, y)
    assert float(loss) == pytest.approx(by_hand(scores, y, among), rel=1e-6)


def test_the_three_losses_differ() -> None:
    scores, y = batch(range(6))
    every = {float(after(2, name).classification(scores, y)) for name in ("seen", "task", "all")}
    assert len(every) == 3


@pytest.mark.parametrize(("competing", "among"), [("seen", SEEN), ("task", OWN)])
def test_what_is_barred_gets_no_gradient(competing: str, among: list[list[int]]) -> None:
    """And what competes gets softmax minus target, by hand."""
    scores, y = batch(range(6))
    scores.requires_grad_()
    after(2, competing).classification(scores, y).backward()
    expected = np.zeros((len(y), K))
    for row, label in enumerate(y.tolist()):
        chances = np.exp(scores[row].detach().double().numpy()[among[label]])
        expected[row, among[label]] = chances / chances.sum()
        expected[row, label] -= 1
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad.numpy(), expected / len(y), atol=1e-7)
    barred = barred_but([*among, *[[]] * 4], torch.device("cpu"))[y]
    assert bool((scores.grad[barred] == 0).all())
    assert bool((scores.grad[~barred] != 0).all())


def test_all_is_plain_cross_entropy_bit_for_bit() -> None:
    scores, y = batch(range(6))
    assert torch.equal(
        after(2, "all").classification(scores, y), functional.cross_entropy(scores, y)
    )


UNEVEN = torch.tensor([5, 5, 5, 5, 4, 4, 4, 1, 2, 2])


@pytest.mark.parametrize(
    ("competing", "among"), [("seen", SEEN), ("task", OWN), ("all", [list(range(K))] * 6)]
)
def test_balanced_is_the_mean_over_classes_of_each_ones_mean(
    competing: str, among: list[list[int]]
) -> None:
    """By hand; without `balanced` it is the mean over examples, which differs."""
    scores = torch.randn(len(UNEVEN), K, generator=torch.Generator().manual_seed(0))
    kept = {"per_class": 3}
    balanced = after(2, competing, exemplars={**kept, "balanced": True})
    each = [by_hand(scores[c == UNEVEN], UNEVEN[c == UNEVEN], among) for c in (1, 2, 4, 5)]
    loss = float(balanced.classification(scores, UNEVEN))
    assert loss == pytest.approx(np.mean(each), rel=1e-6)
    plain = float(after(2, competing, exemplars=kept).classification(scores, UNEVEN))
    assert plain == pytest.approx(by_hand(scores, UNEVEN, among), rel=1e-6)
    assert abs(loss - plain) > 1e-3
    one = balanced.classification(scores[:1], UNEVEN[:1])  # as where a Fisher is taken
    assert float(one) == pytest.approx(by_hand(scores[:1], UNEVEN[:1], among), rel=1e-6)


def test_in_the_first_task_seen_and_own_are_the_same_bit_for_bit() -> None:
    one, other = (learner("finetune", recipe=RECIPE, competing=name) for name in ("seen", "task"))
    for own in (one, other):
        own.learn(TASKS[0])
    assert all(map(torch.equal, weights(one), weights(other)))
    for own in (one, other):
        own.learn(TASKS[1])
    assert not all(map(torch.equal, weights(one), weights(other)))


@pytest.mark.parametrize(("competing", "moved"), [("seen", [0, 1, 2, 3]), ("task", [2, 3])])
def test_rows_of_the_output_layer_that_do_not_compete_stay(
    competing: str, moved: list[int]
) -> None:
    """Without exemplars, `task` trains the task's own head alone, as a multi-head network does."""
    own = learner("finetune", recipe=RECIPE, competing=competing)
    own.learn(TASKS[0])
    before = own.model.get_parameter("output.weight").detach().clone()
    own.learn(TASKS[1])
    changed = (own.model.get_parameter("output.weight") != before).any(1)
    assert changed.nonzero().squeeze(1).tolist() == moved


def test_a_replayed_example_competes_within_its_own_task() -> None:
    """With exemplars the earlier heads are trained on, each by its own examples."""
    own = learner("finetune", recipe=RECIPE, competing="task", exemplars={"per_class": 3})
    own.learn(TASKS[0])
    before = own.model.get_parameter("output.weight").detach().clone()
    own.learn(TASKS[1])
    changed = (own.model.get_parameter("output.weight") != before).any(1)
    assert changed.nonzero().squeeze(1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("replay", ["batch", "joined"])
@pytest.mark.parametrize("competing", ["all", "seen", "task"])
def test_a_learner_continued_from_its_state_competes_as_before(competing: str, replay: str) -> None:
    given = {"competing": competing, "exemplars": {"total": 13, "replay": replay}}
    whole, first, second = (learner("finetune", recipe=RECIPE, **given) for _ in range(3))
    for task in TASKS[:4]:
        whole.learn(task)
    for task in TASKS[:2]:
        first.learn(task)
    second.model.load_state_dict(copy.deepcopy(first.model.state_dict()))
    second.restore({name: t.clone() for name, t in first.state().items()}, TASKS[:2])
    for task in TASKS[2:4]:
        second.learn(task)
    assert all(map(torch.equal, weights(whole), weights(second)))


@pytest.mark.parametrize(
    "given", [{"competing": "none"}, {"exemplars": {"per_class": 3, "total": 5}}, {"exemplars": {}}]
)
def test_settings_that_cannot_be_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        settings("finetune", **given)


def test_er_takes_no_other_exemplars_than_its_memory() -> None:
    with pytest.raises(ValidationError, match="exemplars"):
        settings("er", exemplars={"per_class": 3})
