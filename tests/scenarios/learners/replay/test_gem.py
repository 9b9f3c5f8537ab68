"""GEM: no step raises what is stored, and a gradient that would not is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.modules import mode
from probe.training.costs import bytes_of
from probe.training.loop import Recipe
from scenarios.learners.continual import Competing, ContinualLearner
from scenarios.learners.finetune import Finetune, FinetuneSettings
from scenarios.learners.replay.gem import GemSettings, GradientEpisodicMemory
from scenarios.streams.task import Task
from tests.learning import (
    RECIPE,
    Writing,
    colored,
    digits,
    learn,
    learner,
    noisy_network,
    resumed,
    rows,
    same,
)

SMALL = GemSettings(memory_per_class=5)


def gem() -> GradientEpisodicMemory:
    own = learner(GradientEpisodicMemory, SMALL)
    assert isinstance(own, GradientEpisodicMemory)
    return own


def memories(own: ContinualLearner) -> list[Examples]:
    state = own.state()
    sizes = state["memory.sizes"].tolist()
    parts = zip(state["memory.x"].split(sizes), state["memory.y"].split(sizes), strict=True)
    return [Examples(x, y) for x, y in parts]


def slopes(own: ContinualLearner, memory: Examples) -> tuple[Tensor, ...]:
    """Return the gradients of a memory's loss in eval mode, the plain way."""
    with mode(own.model, training=False):
        loss = own.classification(own.model(memory.x), memory.y)
        return torch.autograd.grad(loss, list(own.model.parameters()))


class Spy(GradientEpisodicMemory):
    """Notes at every step the gradient before and after, and those of the memories."""

    def after_backward(self, model: nn.Module) -> None:
        before = self._now()
        super().after_backward(model)
        after = self._now()
        if self.learned:
            past = [slopes(self, memory) for memory in memories(self)]
            flat = [torch.cat([g.flatten() for g in gradients]) for gradients in past]
            self.steps.append((before, after, torch.stack(flat)))

    def begin(self, task: Task) -> None:
        super().begin(task)
        self.steps: list[tuple[Tensor, Tensor, Tensor]] = []

    def _now(self) -> Tensor:
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        return torch.cat([g.flatten().clone() for g in grads])


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_no_step_s_gradient_opposes_a_memory_s_and_free_ones_are_untouched(margin: float) -> None:
    settings = GemSettings(memory_per_class=150, margin=margin)  # more than a pass takes at once
    spy = learner(Spy, settings, "mlp", Recipe(epochs=4, batch_size=16))
    assert isinstance(spy, Spy)
    tasks = digits(90)
    changed = kept = 0
    for task in tasks[:3]:
        spy.learn(task)
        for before, after, past in spy.steps:
            scale = past.norm(dim=1) * max(before.norm(), after.norm())
            assert (past @ after >= -1e-5 * scale).all()
            if (past @ before < -1e-5 * scale).any():
                assert not torch.equal(after, before)
                changed += 1
            elif (past @ before > 1e-5 * scale).all():
                assert torch.equal(after, before)
                kept += 1
    assert changed > 5
    assert kept > 5


def test_where_no_constraint_is_violated_it_is_finetuning_bit_for_bit() -> None:
    """The same task again, by whole-batch descent: its gradient is that of its memory."""
    task = digits()[0]
    again = replace(task, index=2)
    recipe = Recipe(epochs=5, batch_size=1000, optimizer="sgd", learning_rate=0.05)
    settings = GemSettings(memory_per_class=1000)
    own = learner(GradientEpisodicMemory, settings, recipe=recipe)
    plain = learner(Finetune, FinetuneSettings(), recipe=recipe)
    for one in (task, again):
        own.learn(one)
        plain.learn(one)
        assert same(own, plain)
    own.learn(digits()[1])
    plain.learn(digits()[1])
    assert not same(own, plain)


def rise_on_the_first_task(own: ContinualLearner, rate: float) -> float:
    """Learn a task, then take small steps on the next; return the rise of the first one's loss."""
    first, second = digits()[:2]
    own.learn(first)
    own.recipe = Recipe(epochs=5, batch_size=40, optimizer="sgd", learning_rate=rate)
    losses = []
    for task in (None, second):
        if task:
            own.learn(task)
        with torch.no_grad():
            scores = own.model(first.train.x).double()
            losses.append(float(functional.cross_entropy(scores, first.train.y)))
    return losses[1] - losses[0]


def test_small_steps_do_not_raise_the_loss_on_the_memory_but_finetuning_s_do() -> None:
    all_kept = GemSettings(memory_per_class=20, margin=0.0)
    recipe = Recipe(epochs=10, batch_size=20)
    own = learner(GradientEpisodicMemory, all_kept, recipe=recipe)
    plain = learner(Finetune, FinetuneSettings(), recipe=recipe)
    assert isinstance(own, ContinualLearner)
    assert isinstance(plain, ContinualLearner)
    raised = rise_on_the_first_task(plain, 1e-5)
    assert raised > 0
    assert rise_on_the_first_task(own, 1e-5) < 0.02 * raised


def test_the_memory_is_of_each_class_for_every_task_apart_and_random() -> None:
    tasks = [*digits()[:2], replace(digits()[0], index=3)]
    own = gem()
    learn(own, tasks)
    for task, memory in zip(tasks, memories(own), strict=True):
        for label in task.classes:
            of_class = task.train.of_classes([label])
            kept = rows(memory.of_classes([label]).x)
            known = rows(of_class.x)
            assert len(kept) == 5
            assert all(row in known for row in kept)
            # Neither end of the data's order, which may be anything but random.
            assert kept != rows(of_class.x[-5:].flip(0))
            assert kept != rows(of_class.x[:5])
    assert own.stored_bytes() == bytes_of([own.state()["memory.x"], own.state()["memory.y"]])
    assert all(name.startswith("memory.") for name in own.state())
    assert own.carried() == {}


def test_the_memory_s_pass_moves_no_batch_norm_and_draws_nothing() -> None:
    own = gem()
    own.model = noisy_network()
    tasks = digits()
    learn(own, tasks[:2])
    own.begin(tasks[2])
    own.model.train()
    buffers = [b.clone() for b in own.model.buffers()]
    drawn = torch.get_rng_state()
    for p, against in zip(own.model.parameters(), slopes(own, memories(own)[0]), strict=True):
        p.grad = -against
    gradients = [p.grad.clone() for p in own.model.parameters() if p.grad is not None]
    own.after_backward(own.model)
    assert all(map(torch.equal, buffers, own.model.buffers()))
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(module.training for module in own.model.modules())
    now = [p.grad for p in own.model.parameters() if p.grad is not None]
    assert not all(map(torch.equal, gradients, now))


@pytest.mark.parametrize("competing", ["seen", "task"])
def test_the_same_outputs_compete_in_the_memory_s_loss(competing: Competing) -> None:
    settings = GemSettings(memory_per_class=5, competing=competing)
    own = learner(GradientEpisodicMemory, settings)
    assert isinstance(own, GradientEpisodicMemory)
    tasks = digits()
    learn(own, tasks[:1])
    own.begin(tasks[1])
    memory = memories(own)[0]
    among = 4 if competing == "seen" else 2
    loss = functional.cross_entropy(own.model(memory.x)[:, :among], memory.y)
    by_hand = torch.autograd.grad(loss, list(own.model.parameters()))
    flat = torch.cat([g.flatten() for g in by_hand])
    torch.testing.assert_close(own._gradient_of(memory), flat, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("done", [1, 3])
def test_it_goes_on_bit_for_bit(done: int) -> None:
    whole, second = resumed(gem, digits(), done)
    assert same(whole, second)
    own, other = whole.state(), second.state()
    assert own.keys() == other.keys()
    assert all(torch.equal(own[name], other[name]) for name in own)


def test_without_its_memory_it_goes_another_way() -> None:
    tasks = digits()
    whole, forgetful = learn(gem(), tasks[:2]), gem()
    forgetful.model.load_state_dict(whole.model.state_dict())
    forgetful.restore({}, tasks[:2])
    assert not same(learn(whole, tasks[2:3]), learn(forgetful, tasks[2:3]))


class TwoHeads(nn.Module):
    """The second layer is used for large inputs alone: at times it has no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 10), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        scores: Tensor = self.first(x) + (self.second(x) if x.max() > 5 else 0)
        return scores


def test_a_parameter_without_a_gradient_counts_as_zero() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        own = GradientEpisodicMemory(TwoHeads(), RECIPE, SMALL, 0)
    first, second = digits()[:2]
    large = Examples(first.train.x * 10, first.train.y)
    own.learn(replace(first, train=large))
    before = own.model.get_parameter("second.weight").clone()
    own.learn(second)
    assert not torch.equal(own.model.get_parameter("second.weight"), before)


def test_a_model_that_writes_into_its_input_leaves_the_memory_alone() -> None:
    own = GradientEpisodicMemory(Writing(), RECIPE, SMALL, 0)
    learn(own, digits()[:1])
    before = own.state()["memory.x"].clone()
    learn(own, digits()[1:2])
    assert torch.equal(own.state()["memory.x"][:10], before)


def test_weights_in_another_memory_layout_are_learned_alike() -> None:
    """Gradients that lie otherwise than their parameters mislead a fused optimizer."""
    tasks = digits()[:3]
    own, other = gem(), gem()
    other.model.to(memory_format=torch.channels_last)
    learn(own, tasks)
    learn(other, tasks)
    for key, value in own.model.state_dict().items():
        torch.testing.assert_close(other.model.state_dict()[key], value, rtol=1e-2, atol=1e-3)


def test_batch_norm_works_and_two_runs_are_the_same() -> None:
    recipe = Recipe(epochs=1, batch_size=6)
    runs = [
        learner(GradientEpisodicMemory, SMALL, "reduced_resnet18", recipe, (3, 28, 28))
        for _ in range(2)
    ]
    assert same(*(learn(own, colored()) for own in runs))
    assert all(torch.isfinite(v).all() for v in runs[0].model.state_dict().values())
