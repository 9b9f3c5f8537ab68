"""LwF: fine-tuning where there is nothing to remember, and its loss where there is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.examples import Examples
from probe.training.loop import Recipe
from scenarios.learners.continual import Competing
from scenarios.learners.distillation.lwf import LearningWithoutForgetting, LwfSettings
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.finetune import Finetune, FinetuneSettings
from tests.learning import (
    RECIPE,
    Writing,
    colored,
    digits,
    learn,
    learner,
    noisy_network,
    resumed,
    same,
)

Floats = NDArray[np.float64]


def lwf(recipe: Recipe = RECIPE, **changes: object) -> LearningWithoutForgetting:
    settings = LwfSettings(**changes)  # type: ignore[arg-type]
    own = learner(LearningWithoutForgetting, settings, recipe=recipe)
    assert isinstance(own, LearningWithoutForgetting)
    return own


def finetune(recipe: Recipe = RECIPE) -> Finetune:
    own = learner(Finetune, FinetuneSettings(), recipe=recipe)
    assert isinstance(own, Finetune)
    return own


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


def in_third_task(own: LearningWithoutForgetting) -> tuple[Tensor, Tensor, Floats]:
    """Learn two tasks, begin a third, move the weights; return a batch and its old scores."""
    tasks = digits()
    learn(own, tasks[:2])
    own.begin(tasks[2])
    x, y = tasks[2].train.x, tasks[2].train.y
    old = scored(own.model, x)
    for p in own.model.parameters():
        p.data += 0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(3))
    return x, y, old


@pytest.mark.parametrize("network", ["cnn3", "noisy"])
def test_with_nothing_to_remember_it_is_finetuning_bit_for_bit(network: str) -> None:
    """In the first task, and with strength 0 in all; with a positive one the second differs."""
    tasks = digits()[:3]
    plain, none, own = finetune(), lwf(strength=0.0), lwf()
    if network == "noisy":
        for one in (plain, none, own):
            one.model = noisy_network()
    for place, task in enumerate(tasks):
        for one in (plain, none, own):
            one.learn(task)
        assert same(none, plain)
        assert same(own, plain) == (place == 0)


@pytest.mark.parametrize(("temperature", "strength"), [(2.0, 1.0), (1.0, 0.3), (5.0, 4.0)])
def test_the_loss_is_the_one_computed_by_hand(temperature: float, strength: float) -> None:
    own = lwf(temperature=temperature, strength=strength)
    x, y, old = in_third_task(own)
    new = scored(own.model, x)
    classification = -log_softmax(new)[np.arange(len(y)), y.numpy()].mean()
    # The classes 0 to 3 of the first two tasks are distilled.
    expected = classification + strength * kl(old[:, :4], new[:, :4], temperature)
    assert own.loss(own.model, x, y).item() == pytest.approx(expected, rel=1e-5)
    every = classification + strength * kl(old, new, temperature)
    assert abs(every - expected) > 1e-3 * expected


def test_for_heads_of_their_own_every_task_is_distilled_apart() -> None:
    own = lwf(competing="task")
    x, y, old = in_third_task(own)
    new = scored(own.model, x)
    classification = -log_softmax(new[:, 4:6])[np.arange(len(y)), y.numpy() - 4].mean()
    apart = kl(old[:, :2], new[:, :2], 2.0) + kl(old[:, 2:4], new[:, 2:4], 2.0)
    assert own.loss(own.model, x, y).item() == pytest.approx(classification + apart, rel=1e-5)


@pytest.mark.parametrize("competing", ["all", "seen", "task"])
def test_only_the_outputs_of_earlier_classes_are_distilled(competing: Competing) -> None:
    own = lwf(competing=competing)
    x, y, _ = in_third_task(own)
    loss = own.loss(own.model, x, y) - own.classification(own.model(x), y)
    bias = own.model.get_submodule("output").get_submodule("1").get_parameter("bias")
    (slope,) = torch.autograd.grad(loss, [bias])
    assert (slope[:4].abs() > 1e-6).all()
    assert (slope[4:] == 0).all()


def test_where_nothing_has_moved_the_distillation_and_its_slope_are_zero() -> None:
    own = lwf()
    tasks = digits()
    learn(own, tasks[:1])
    own.begin(tasks[1])
    x, y = tasks[1].train.x, tasks[1].train.y
    distillation = own.loss(own.model, x, y) - own.classification(own.model(x), y)
    assert distillation.item() == pytest.approx(0, abs=1e-6)
    slopes = torch.autograd.grad(distillation, list(own.model.parameters()))
    assert max(float(s.abs().max()) for s in slopes) < 1e-6


def test_with_strength_0_no_old_model_runs() -> None:
    tasks = digits()
    for strength in (0.0, 1.0):
        own = lwf(strength=strength)
        learn(own, tasks[:1])
        own.begin(tasks[1])
        assert (own.old_scores(tasks[1].train.x) is None) == (strength == 0)


def test_the_old_model_stays_as_it_was_and_draws_nothing() -> None:
    tasks = digits()
    own = lwf()
    own.model = noisy_network()
    learn(own, tasks[:1])
    own.begin(tasks[1])
    x = tasks[1].train.x
    own.model.eval()
    expected = scored(own.model, x)
    own.model.train()
    before = torch.get_rng_state()
    own.old_scores(x)
    assert torch.equal(torch.get_rng_state(), before)
    for p in own.model.parameters():
        p.data += 1
    own.model(x)  # moves the running statistics, and draws
    assert not torch.equal(torch.get_rng_state(), before)
    old = own.old_scores(x)
    assert old is not None
    assert not old.requires_grad
    np.testing.assert_array_equal(old.double().numpy(), expected)


class Spy(LearningWithoutForgetting):
    """Notes the labels of every batch that is distilled."""

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        self.labels = y
        return super().loss(model, x, y)


def test_with_exemplars_the_distillation_covers_the_whole_batch() -> None:
    settings = LwfSettings(exemplars=ExemplarSettings(per_class=4))
    own = learner(Spy, settings)
    assert isinstance(own, Spy)
    tasks = digits()
    learn(own, tasks[:2])
    assert set(own.labels.tolist()) == {0, 1, 2, 3}
    own.begin(tasks[2])
    x, y = own.batch(tasks[2].train.x, tasks[2].train.y)
    old = scored(own.model, x)
    for p in own.model.parameters():
        p.data *= 1.1
    new = scored(own.model, x)
    gap = own.loss(own.model, x, y) - own.classification(own.model(x), y)
    assert len(y) > len(tasks[2].train.y)
    assert gap.item() == pytest.approx(kl(old[:, :4], new[:, :4], 2.0), rel=1e-3)


def test_it_keeps_the_old_outputs_that_finetuning_loses() -> None:
    tasks, recipe = digits(60), Recipe(epochs=10, batch_size=16)
    moved = {}
    for own in (finetune(recipe), lwf(recipe, strength=10.0)):
        own.learn(tasks[0])
        before = scored(own.model, tasks[1].train.x)[:, :2]
        own.learn(tasks[1])
        after = scored(own.model, tasks[1].train.x)[:, :2]
        moved[type(own)] = kl(before, after, 2.0)
    assert moved[LearningWithoutForgetting] < 0.3 * moved[Finetune]


@pytest.mark.parametrize("done", [1, 3])
def test_it_carries_nothing_and_goes_on_bit_for_bit(done: int) -> None:
    whole, second = resumed(lwf, digits(), done)
    assert same(whole, second)
    assert whole.state() == {}


def test_batch_norm_works_and_two_runs_are_the_same() -> None:
    runs = []
    for _ in range(2):
        own = learner(
            LearningWithoutForgetting,
            LwfSettings(),
            "reduced_resnet18",
            Recipe(epochs=1, batch_size=6),
            (3, 28, 28),
        )
        runs.append(learn(own, colored()))
    assert same(*runs)
    assert all(torch.isfinite(v).all() for v in runs[0].model.state_dict().values())


def test_a_model_that_writes_into_its_input_and_keeps_values_is_distilled() -> None:
    own = LearningWithoutForgetting(Writing(), RECIPE, LwfSettings(), 0)
    tasks = digits()
    own.learn(tasks[0])
    own.begin(tasks[1])
    data = Examples(tasks[1].train.x.clone(), tasks[1].train.y)
    distillation = own.loss(own.model, data.x.clone(), data.y)
    distillation -= own.classification(own.model(data.x.clone()), data.y)
    assert distillation.item() == pytest.approx(0, abs=1e-6)
