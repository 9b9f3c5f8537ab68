"""EWC++: the running Fisher of equation 6, whatever the size of the batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probe.training.loop import Recipe
from scenarios.learners.penalties.ewc_online import EwcOnline
from probe.tasks import Task
from tests.scenarios.learners.tiny_learners import learn, points, seeded
from tests.scenarios.learners.tiny_learners import learner as tiny_learner


def task(index: int = 0) -> Task:
    return points(index, 16, 4, apart=0.0, dtype=torch.float32)


def learner(of: type[EwcOnline] = EwcOnline, **settings: object) -> EwcOnline:
    model, recipe = seeded(lambda: nn.Linear(4, 4)), Recipe(epochs=1, batch_size=8)
    return tiny_learner("ewc_online", recipe=recipe, of=of, model=model, **settings)


def see(own: EwcOnline, gradient: Tensor, batch: int) -> None:
    """Show the learner a step on that many examples, whose mean gradient is the one given."""
    own.loss(own.model, torch.zeros(batch, 4), torch.zeros(batch, dtype=torch.int64))
    own.model.weight.grad = gradient.clone()
    own.after_backward(own.model)


def test_equation_6_by_hand() -> None:
    own = learner(alpha=0.25)
    own.begin(task())
    for g in (2.0, 1.0):
        see(own, torch.full((4, 4), g), batch=3)
    # 0.25 * 3 * 4 = 3, then 0.75 * 3 + 0.25 * 3 * 1 = 3
    torch.testing.assert_close(own.fisher["weight"], torch.full((4, 4), 3.0))
    see(own, torch.zeros(4, 4), batch=3)
    torch.testing.assert_close(own.fisher["weight"], torch.full((4, 4), 2.25))
    assert not own.fisher["bias"].any()


def mean_square(batch: int, weighted: bool) -> Tensor:
    """The mean of F_batch over many batches of B gradients of single examples with mean 0."""
    draw = torch.Generator().manual_seed(batch)
    spread = torch.arange(1.0, 17.0).view(4, 4)
    own = learner(alpha=1.0)
    own.begin(task())
    total = torch.zeros(4, 4)
    for _ in range(2000):
        single = spread * torch.randn(batch, 4, 4, generator=draw)
        see(own, single.mean(0), batch if weighted else 1)
        total += own.fisher["weight"] / 2000
    return total / spread.square()


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_of_gradients_of_mean_zero_it_is_their_variance_for_every_batch(batch: int) -> None:
    """Each of 16 means of 2000 squares is 1 within 5 standard errors, sqrt(2 / 2000) each."""
    torch.testing.assert_close(
        mean_square(batch, weighted=True), torch.ones(4, 4), rtol=0, atol=0.16
    )


@pytest.mark.parametrize("batch", [4, 32])
def test_the_plain_square_of_the_mean_gradient_shrinks_with_the_batch(batch: int) -> None:
    """The negative control of the test above."""
    plain = mean_square(batch, weighted=False)
    torch.testing.assert_close(plain, torch.full((4, 4), 1 / batch), rtol=0.16, atol=0)


def test_it_is_of_the_batchs_own_gradient_replayed_examples_included() -> None:
    """The penalty's is added later; the sizes of the batches are what `loss` sees."""

    class Spy(EwcOnline):
        def after_backward(self, model: nn.Module) -> None:
            before = {n: f.clone() for n, f in self.fisher.items()}
            own = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
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
    spy = learner(Spy, strength=1e3, alpha=0.1, exemplars={"per_class": 2})
    learn(spy, [task(), task(1)])
    assert sizes == [8, 8, 12, 12]
    assert penalized == [False, False, False, True]  # at the anchor the penalty has no slope


def test_what_is_held_is_the_fisher_when_the_task_ended() -> None:
    """It stays while the running one moves on in the next task."""
    own = learner()
    own.learn(task())
    held = {n: w.clone() for n, w in own.penalty.importance.items()}
    own.begin(task(1))
    see(own, torch.ones(4, 4), batch=8)
    assert torch.equal(own.penalty.importance["weight"], held["weight"])
    assert not torch.equal(own.fisher["weight"], held["weight"])
