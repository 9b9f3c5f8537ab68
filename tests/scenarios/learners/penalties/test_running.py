"""EWC++, SI and RWalk: what each takes from the training steps, by hand."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.tasks import Task
from probe.training.loop import Recipe
from tests.scenarios.learners.tiny_learners import chain, learner, points


def task(index: int = 0) -> Task:
    return points(index, 16, 4, apart=0.0, dtype=torch.float32)


def test_over_small_steps_the_path_integral_sums_to_the_drop_of_the_loss() -> None:
    """Also in a second task, where the penalty pulls at the parameters too."""
    model = chain(lambda: nn.Linear(6, 8), nn.Tanh, lambda: nn.Linear(8, 4)).double()
    recipe = Recipe(epochs=200, batch_size=32, optimizer="sgd", learning_rate=2e-3)
    own = learner("si", recipe=recipe, model=model, strength=1.0)
    for index in range(2):
        learned, losses = points(index, 32, apart=1.0), []
        for step in (lambda: None, lambda learned=learned: own.learn(learned)):
            step()
            with torch.no_grad():
                scores = own.model(learned.train.x)
            losses.append(float(functional.cross_entropy(scores, learned.train.y)))
        integral = sum(float(drop.sum()) for drop in own.drop.values())
        assert losses[0] - losses[1] > 0.2
        assert integral == pytest.approx(losses[0] - losses[1], rel=0.01)


@pytest.mark.parametrize("exemplars", [None, {"per_class": 2}])
def test_with_the_euclidean_distance_over_a_whole_task_rwalks_score_is_that_of_si(
    exemplars: dict[str, int] | None,
) -> None:
    """Bit for bit, and after a second task the mean of the two. Both learners without a pull."""

    def made(kind: str, **settings: object) -> Any:
        model = chain(lambda: nn.Linear(6, 8), nn.ReLU, lambda: nn.Linear(8, 6))
        recipe, given = Recipe(epochs=3, batch_size=8), {"strength": 0.0, "exemplars": exemplars}
        return learner(kind, recipe=recipe, model=model, **given, **settings)

    walk = made("rwalk", distance="euclidean", interval=10**9, epsilon=1e-3)
    si, otherwise = made("si", damping=1e-3), made("rwalk", interval=10**9, epsilon=1e-3)
    first = points(0, dtype=torch.float32)
    for own in (walk, si, otherwise):
        own.learn(first)
    omega = dict(si.penalty.importance)
    assert all(torch.equal(score, omega[n]) for n, score in walk.score.items())
    assert not torch.allclose(otherwise.score["2.weight"], omega["2.weight"], rtol=0.05)
    for own in (walk, si):
        own.learn(points(1, dtype=torch.float32))
    for n, score in walk.score.items():
        second = si.penalty.importance[n] - omega[n]
        torch.testing.assert_close(score, (omega[n] + second) / 2)
