"""EWC++, SI and RWalk: what each takes from the training steps, by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.tasks import Task
from probe.training.loop import Recipe
from scenarios.learners.penalties.ewc_online import EwcOnline
from scenarios.learners.penalties.path_integral import PathIntegral
from scenarios.learners.penalties.rwalk import RWalk, RWalkSettings, normalized
from tests.scenarios.learners.tiny_learners import chain, learn, learner, points, seeded

SINGLE = Recipe(epochs=1, batch_size=8)


def small(kind: str = "ewc_online", of: Any = None, **settings: object) -> Any:
    model = seeded(lambda: nn.Linear(4, 4))
    return learner(kind, recipe=SINGLE, of=of, model=model, **settings)


def task(index: int = 0) -> Task:
    return points(index, 16, 4, apart=0.0, dtype=torch.float32)


def see(own: Any, gradient: Tensor, batch: int) -> None:
    """Show the learner a step on that many examples, whose mean gradient is the one given."""
    own.loss(own.model, torch.zeros(batch, 4), torch.zeros(batch, dtype=torch.int64))
    own.model.weight.grad = gradient.clone()
    own.after_backward(own.model)


def test_equation_6_by_hand() -> None:
    own = small(alpha=0.25)
    own.begin(task())
    for g in (2.0, 1.0):
        see(own, torch.full((4, 4), g), batch=3)
    # 0.25 * 3 * 4 = 3, then 0.75 * 3 + 0.25 * 3 * 1 = 3
    torch.testing.assert_close(own.fisher["weight"], torch.full((4, 4), 3.0))
    see(own, torch.zeros(4, 4), batch=3)
    torch.testing.assert_close(own.fisher["weight"], torch.full((4, 4), 2.25))
    assert not own.fisher["bias"].any()


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_of_gradients_of_mean_zero_the_fisher_is_their_variance_for_every_batch(batch: int) -> None:
    """Each of 16 means of 2000 squares is 1 within 5 standard errors, sqrt(2 / 2000) each."""
    draw = torch.Generator().manual_seed(batch)
    own = small(alpha=1.0)
    own.begin(task())
    total = torch.zeros(4, 4)
    for _ in range(2000):
        see(own, torch.randn(batch, 4, 4, generator=draw).mean(0), batch)
        total += own.fisher["weight"] / 2000
    torch.testing.assert_close(total, torch.ones(4, 4), rtol=0, atol=0.16)


def test_the_running_fisher_is_of_the_batchs_own_gradient_replayed_examples_included() -> None:
    """The penalty's is added later; the sizes of the batches are what `loss` sees."""

    class Spy(EwcOnline):
        def after_backward(self, model: nn.Module) -> None:
            before = {n: f.clone() for n, f in self.fisher.items()}
            own = {n: p.grad.clone() for n, p in model.named_parameters()}
            super().after_backward(model)
            for n, g in own.items():
                expected = 0.9 * before[n] + 0.1 * sizes[-1] * g**2
                torch.testing.assert_close(self.fisher[n], expected)
            penalized.append(not torch.equal(own["weight"], model.weight.grad))

        def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            sizes.append(len(y))
            return super().loss(model, x, y)

    sizes: list[int] = []
    penalized: list[bool] = []
    spy = small(of=Spy, strength=1e3, alpha=0.1, exemplars={"per_class": 2})
    learn(spy, [task(), task(1)])
    assert sizes == [8, 8, 12, 12]
    assert penalized == [False, False, False, True]  # at the anchor the penalty has no slope


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
        integral = sum(float(drop.sum()) for _, drop, _ in own._path.so_far())
        assert losses[0] - losses[1] > 0.2
        assert integral == pytest.approx(losses[0] - losses[1], rel=0.01)


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


def one_input(dims: int) -> Task:
    data = Examples(torch.zeros(1, dims), torch.zeros(1, dtype=torch.int64))
    return Task(index=1, name="", classes=(0,), train=data, test=data)


def test_rwalks_score_by_hand() -> None:
    """Two intervals, of two steps and of one, on one parameter with alpha = 1 and B = 1.

    theta 0 -> 1 -> 3 -> 2; gradients -4, -1, 2; drops 4, 2, 2. At the end of the first interval
    F = 1, the distance 1/2 * 1 * 3^2; of the second F = 4, the distance 1/2 * 4 * 1^2.
    """
    model, single = nn.Linear(1, 1, bias=False), one_input(1)
    model.weight.data.zero_()
    own = RWalk(model, Recipe(), RWalkSettings(interval=2, alpha=1.0, epsilon=0.5), 0)
    own.begin(single)
    for gradient, after in ((-4.0, 1.0), (-1.0, 3.0), (2.0, 2.0)):
        own.loss(model, single.train.x, single.train.y)
        model.weight.grad = torch.full((1, 1), gradient)
        own.after_backward(model)
        model.weight.data.fill_(after)
        own.after_step(model)
    own.end(single)
    assert float(own.score["weight"]) == pytest.approx(6 / (4.5 + 0.5) + 2 / (2 + 0.5))
    assert float(own.fisher["weight"]) == 4


def test_a_score_is_cut_at_zero_as_a_whole_and_averaged_with_the_one_before() -> None:
    """Two parameters whose intervals bring 5 and -3, and 1 and -3, score 2 and 0; then 1 and 7."""
    single = one_input(2)
    own = RWalk(nn.Linear(2, 1, bias=False), Recipe(), RWalkSettings(), 0)
    for brought, score, unit in (
        ([5.0 - 3.0, 1.0 - 3.0], [2.0, 0.0], [1.0, 0.0]),
        ([1.0, 7.0], [1.5, 3.5], [0.0, 1.0]),
    ):
        own.begin(single)
        own._new["weight"] += torch.tensor([brought])
        own.end(single)
        assert own.score["weight"].tolist() == [score]
        assert own.penalty.importance["weight"].tolist() == [unit]


def test_each_is_normalized_over_the_whole_network() -> None:
    numbers = {"weight": torch.tensor([[2.0, 4.0], [3.0, 2.0]]), "bias": torch.tensor([10.0, 6.0])}
    unit = normalized(numbers)
    assert unit["weight"].tolist() == [[0.0, 0.25], [0.125, 0.0]]
    assert unit["bias"].tolist() == [1.0, 0.5]
    constant = normalized({"weight": torch.full((2, 2), 3.0)})
    assert constant["weight"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
