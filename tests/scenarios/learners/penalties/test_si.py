"""SI: the path integral is the drop of the loss, and what it makes of it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.training.loop import Recipe
from scenarios.learners.penalties.path_integral import PathIntegral
from scenarios.learners.penalties.si import SynapticIntelligence
from probe.tasks import Task
from tests.scenarios.learners.tiny_learners import chain, points
from tests.scenarios.learners.tiny_learners import learner as tiny_learner

N = 32


def task(index: int) -> Task:
    return points(index, N, apart=1.0)


def learner(of: type[SynapticIntelligence], rate: float, steps: int) -> SynapticIntelligence:
    """Whole-batch gradient descent, so that the loss of every step is the same function."""
    model = chain(lambda: nn.Linear(6, 8), nn.Tanh, lambda: nn.Linear(8, 4)).double()
    recipe = Recipe(epochs=steps, batch_size=N, optimizer="sgd", learning_rate=rate)
    return tiny_learner("si", recipe=recipe, of=of, model=model, strength=1.0)


class PenaltyFirst(SynapticIntelligence):
    """The mistake: the path integral of the penalized gradient."""

    def after_backward(self, model: nn.Module) -> None:
        if self.penalty:
            self.penalty.add_gradient(model, self.settings.strength)
        self._path.before_step()


def drops(own: SynapticIntelligence, learned: Task) -> tuple[float, float]:
    """Learn a task; return the sum of the path integrals and the drop of the task's loss."""

    @torch.no_grad()
    def loss() -> float:
        return float(functional.cross_entropy(own.model(learned.train.x), learned.train.y))

    before = loss()
    own.learn(learned)
    integral = sum(float(drop.sum()) for _, drop, _ in own._path.so_far())
    return integral, before - loss()


def test_over_small_steps_it_sums_to_the_drop_of_the_loss() -> None:
    """Also in a second task, where the penalty pulls at the parameters too."""
    own = learner(SynapticIntelligence, rate=2e-3, steps=200)
    for index in range(2):
        integral, drop = drops(own, task(index))
        assert drop > 0.2
        assert integral == pytest.approx(drop, rel=0.01)


def test_the_error_shrinks_with_the_steps() -> None:
    """It is of first order: ten times shorter steps, a tenth of the error."""
    errors = []
    for rate, steps in ((2e-2, 20), (2e-3, 200)):
        integral, drop = drops(learner(SynapticIntelligence, rate, steps), task(0))
        errors.append(abs(integral / drop - 1))
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.3)


def test_with_the_penaltys_gradient_it_would_not() -> None:
    """The negative control: right in the first task, where there is none, wrong in the second."""
    own = learner(PenaltyFirst, rate=2e-3, steps=200)
    integral, drop = drops(own, task(0))
    assert integral == pytest.approx(drop, rel=0.01)
    integral, drop = drops(own, task(1))
    assert abs(integral / drop - 1) > 0.05


def test_the_path_by_hand() -> None:
    """theta: 1 -> 3 -> 2 with gradients 4 and -1: the drops are -4 * 2 and -(-1) * (-1)."""
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    path = PathIntegral(model)
    for gradient, after in ((4.0, 3.0), (-1.0, 2.0)):
        model.weight.grad = torch.full((1, 1), gradient)
        path.before_step()
        model.weight.grad.fill_(99.0)  # as a penalty would
        model.weight.data.fill_(after)
        path.after_step()
    [(name, drop, moved)] = path.so_far()
    assert (name, float(drop), float(moved)) == ("weight", -9.0, 1.0)
    path.restart()
    model.weight.grad = None
    path.before_step()
    model.weight.data.fill_(7.0)
    path.after_step()
    [(name, drop, moved)] = path.so_far()
    assert (name, float(drop), float(moved)) == ("weight", 0.0, 5.0)


def test_importance_adds_up_and_is_never_negative() -> None:
    own = learner(SynapticIntelligence, rate=0.1, steps=10)
    own.recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.3)
    own.learn(task(0))
    first = own.penalty.importance
    own.learn(task(1))
    for name, drop, moved in own._path.so_far():
        gain = own.penalty.importance[name] - first[name]
        expected = torch.where(drop > 0, drop / (moved**2 + 1e-3), 0.0)
        torch.testing.assert_close(gain, expected)
        assert (first[name] >= 0).all()
    assert any((drop < 0).any() for _, drop, _ in own._path.so_far())
