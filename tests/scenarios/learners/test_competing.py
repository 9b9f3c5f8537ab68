"""Which outputs compete in the training's loss, and how much a class weighs: against numpy."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional

from probe.training.loop import Recipe
from scenarios.learners.continual import ContinualLearner
from tests.scenarios.learners.tiny_learners import digits, learn, learner, settings

K = 10
RECIPE = Recipe(epochs=1, batch_size=16)
TASKS = digits(10).tasks


def after(tasks: int, competing: str, **given: object) -> ContinualLearner:
    """Return a learner in the midst of a task, that many learned before it."""
    own = learn(learner("finetune", recipe=RECIPE, competing=competing, **given), TASKS[:tasks])
    own.begin(TASKS[tasks])
    return own


def by_hand(scores: Tensor, y: Tensor, competing: list[list[int]]) -> float:
    """Return the mean of -log of the softmax over each example's competing outputs, in float64."""
    losses = []
    for row, label in zip(scores.double().numpy(), y.tolist(), strict=True):
        among = row[competing[label]]
        losses.append(np.log(np.exp(among - row[label]).sum()))
    return float(np.mean(losses))


def batch() -> tuple[Tensor, Tensor]:
    y = torch.arange(6).repeat_interleave(3)
    return 3 * torch.randn(len(y), K, generator=torch.Generator().manual_seed(0)), y


# Two tasks were learned, 0-1 and 2-3; the third, 4-5, is at hand, with replayed examples of both.
SEEN = [[0, 1, 2, 3, 4, 5]] * 6
OWN = [[0, 1], [0, 1], [2, 3], [2, 3], [4, 5], [4, 5]]
AMONG = {"seen": SEEN, "task": OWN, "all": [list(range(K))] * 6}


def test_the_loss_is_the_cross_entropy_among_what_competes() -> None:
    """Three losses that differ; that of `all` is the plain one, bit for bit."""
    scores, y = batch()
    found = {name: after(2, name).classification(scores, y) for name in AMONG}
    for name, among in AMONG.items():
        assert float(found[name]) == pytest.approx(by_hand(scores, y, among), rel=1e-6)
    assert len(set(map(float, found.values()))) == 3
    assert torch.equal(found["all"], functional.cross_entropy(scores, y))


UNEVEN = torch.tensor([5, 5, 5, 5, 4, 4, 4, 1, 2, 2])


@pytest.mark.parametrize("competing", AMONG)
def test_balanced_is_the_mean_over_classes_of_each_ones_mean(competing: str) -> None:
    """By hand; without `balanced` it is the mean over examples, which differs."""
    among, kept = AMONG[competing], {"per_class": 3}
    scores = torch.randn(len(UNEVEN), K, generator=torch.Generator().manual_seed(0))
    balanced = after(2, competing, exemplars={**kept, "balanced": True})
    each = [by_hand(scores[c == UNEVEN], UNEVEN[c == UNEVEN], among) for c in (1, 2, 4, 5)]
    loss = float(balanced.classification(scores, UNEVEN))
    assert loss == pytest.approx(np.mean(each), rel=1e-6)
    plain = float(after(2, competing, exemplars=kept).classification(scores, UNEVEN))
    assert plain == pytest.approx(by_hand(scores, UNEVEN, among), rel=1e-6)
    assert abs(loss - plain) > 1e-3
    alone = scores[:1], UNEVEN[:1]  # weighs 1, as where a Fisher is taken
    assert float(balanced.classification(*alone)) == pytest.approx(by_hand(*alone, among), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("finetune", {"competing": "none"}),
        ("finetune", {"exemplars": {"per_class": 3, "total": 5}}),
        ("finetune", {"exemplars": {}}),
        ("er", {"exemplars": {"per_class": 3}}),  # its memory is its own
    ],
)
def test_settings_that_cannot_be_are_refused(kind: str, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="|".join(given)):
        settings(kind, **given)
