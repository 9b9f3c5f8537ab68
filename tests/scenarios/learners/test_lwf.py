"""LwF: fine-tuning where there is nothing to remember, and its loss where there is."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scenarios.learners.distillation import LearningWithoutForgetting
from tests.scenarios.learners.tiny_learners import (
    digits,
    learn,
    learner as tiny_learner,
    noisy_network,
    same,
)

TASKS = digits(20).tasks
Floats = NDArray[np.float64]


def lwf(**given: object) -> LearningWithoutForgetting:
    return tiny_learner("lwf", "cnn3", **given)


def log_softmax(z: Floats) -> Floats:
    shifted = z - z.max(1, keepdims=True)
    out: Floats = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return out


def kl(old: Floats, new: Floats, temperature: float) -> float:
    p, q = log_softmax(old / temperature), log_softmax(new / temperature)
    return float((np.exp(p) * (p - q)).sum(1).mean()) * temperature**2


def scored(model: nn.Module, x: Tensor) -> Floats:
    with torch.no_grad():
        return model(x).double().numpy()


def test_with_nothing_to_remember_it_is_finetuning_bit_for_bit() -> None:
    """In the first task, and with strength 0 in all, also where networks draw at random."""
    plain, none, own = tiny_learner("finetune", "cnn3"), lwf(strength=0.0), lwf()
    for one in (plain, none, own):
        one.model = noisy_network()
    for done, task in enumerate(TASKS[:3]):
        for one in (plain, none, own):
            one.learn(task)
        assert same(none, plain)
        assert same(own, plain) == (done == 0)


GROUPS = {"all": [range(4)], "seen": [range(4)], "task": [range(2), range(2, 4)]}
AMONG = {"all": range(10), "seen": range(6), "task": range(4, 6)}


@pytest.mark.parametrize(
    ("loss_classes", "temperature", "strength"),
    [("all", 2.0, 1.0), ("seen", 1.0, 0.3), ("task", 5.0, 4.0)],
)
def test_the_loss_is_the_one_computed_by_hand(
    loss_classes: str, temperature: float, strength: float
) -> None:
    """The classes 0 to 3 of the first two tasks are distilled, those of heads one by one."""
    own = lwf(loss_classes=loss_classes, temperature=temperature, strength=strength)
    learn(own, TASKS[:2]).begin(TASKS[2])
    x, y = TASKS[2].train.x, TASKS[2].train.y
    old = scored(own.model, x)
    for p in own.model.parameters():
        p.data += 0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))
    new, among = scored(own.model, x), list(AMONG[loss_classes])
    label = y.numpy() - among[0]
    expected = -log_softmax(new[:, among])[np.arange(len(y)), label].mean()
    for group in GROUPS[loss_classes]:
        expected += strength * kl(old[:, group], new[:, group], temperature)
    assert own.loss(own.model, x, y).item() == pytest.approx(expected, rel=1e-5)
