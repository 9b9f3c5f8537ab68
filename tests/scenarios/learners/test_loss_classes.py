"""Losses against numpy: which outputs compete, how much a class weighs, what LwF distils."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from torch.nn import functional

from probe.training.loop import Recipe
from tests.scenarios.learners.tiny_learners import digits, learn, learner

K = 10
RECIPE = Recipe(epochs=1, batch_size=16)
TASKS = digits(10).tasks


def after(tasks, loss_classes, **given):
    """Return a learner in the midst of a task, that many learned before it."""
    own = learner("finetune", recipe=RECIPE, loss_classes=loss_classes, **given)
    learn(own, TASKS[:tasks])
    own.begin(TASKS[tasks])
    return own


def by_hand(scores, y, loss_classes):
    """Return the mean of -log of the softmax over each example's classes, in float64."""
    losses = []
    for row, label in zip(scores.double().numpy(), y.tolist(), strict=True):
        among = row[loss_classes[label]]
        losses.append(np.log(np.exp(among - row[label]).sum()))
    return float(np.mean(losses))


# Two tasks were learned, 0-1 and 2-3; the third, 4-5, is at hand, with replayed
# examples of both.
SEEN = [[0, 1, 2, 3, 4, 5]] * 6
OWN = [[0, 1]] * 2 + [[2, 3]] * 2 + [[4, 5]] * 2
AMONG = {"seen": SEEN, "task": OWN, "all": [list(range(K))] * 6}


UNEVEN = torch.tensor([5, 5, 5, 5, 4, 4, 4, 1, 2, 2])


@pytest.mark.parametrize("loss_classes", AMONG)
def test_the_loss_is_the_cross_entropy_over_the_loss_classes(loss_classes):
    """Balanced, it is the mean over classes of the mean of each; else the mean over examples."""
    among = AMONG[loss_classes]
    kept = {"per_class": 3}
    scores = torch.randn(len(UNEVEN), K, generator=torch.Generator().manual_seed(0))
    balanced = after(
        2,
        loss_classes,
        exemplars={
            **kept,
            "balanced": True,
        },
    )
    each = [
        by_hand(scores[c == UNEVEN], UNEVEN[c == UNEVEN], among) for c in (1, 2, 4, 5)
    ]
    loss = float(balanced.classification(scores, UNEVEN))
    assert loss == pytest.approx(np.mean(each), rel=1e-6)
    plain = after(2, loss_classes, exemplars=kept).classification(scores, UNEVEN)
    assert float(plain) == pytest.approx(by_hand(scores, UNEVEN, among), rel=1e-6)
    assert abs(loss - float(plain)) > 1e-3
    assert torch.equal(plain, functional.cross_entropy(scores, UNEVEN)) == (
        loss_classes == "all"
    )
    alone = scores[:1], UNEVEN[:1]  # weighs 1, as where a Fisher is taken
    assert float(balanced.classification(*alone)) == pytest.approx(
        by_hand(*alone, among), rel=1e-6
    )


GROUPS = {
    "all": [range(4)],
    "seen": [range(4)],
    "task": [range(2), range(2, 4)],
}


@pytest.mark.parametrize(
    ("loss_classes", "temperature", "strength"),
    [("all", 2.0, 1.0), ("seen", 1.0, 0.3), ("task", 5.0, 4.0)],
)
def test_the_loss_of_lwf_is_the_one_computed_by_hand(
    loss_classes, temperature, strength
):
    """The classes 0 to 3 of the first two tasks are distilled, those of heads one by one."""
    given = {
        "loss_classes": loss_classes,
        "temperature": temperature,
        "strength": strength,
    }
    own = learn(
        learner("lwf", recipe=RECIPE, **given),
        TASKS[:2],
    )
    own.begin(TASKS[2])
    x = TASKS[2].train.x
    y = TASKS[2].train.y
    with torch.no_grad():
        old = own.model(x)
        for p in own.model.parameters():
            p += 0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))
        new = own.model(x)
    expected = by_hand(new, y, AMONG[loss_classes])
    for group in GROUPS[loss_classes]:
        p, q = (log_softmax(z[:, group].double() / temperature, 1) for z in (old, new))
        expected += (
            strength * temperature**2 * float((np.exp(p) * (p - q)).sum(1).mean())
        )
    assert own.loss(own.model, x, y).item() == pytest.approx(expected, rel=1e-5)
