"""What each learner must do, and that a learner continued from its state is the learner."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from probe.examples import Examples, join
from probe.metrics.counts import Counts
from probe.modules import mode
from probe.seeding import stream
from probe.training.evaluation import evaluate
from probe.training.loop import Recipe, fit
from scenarios.data.datasets import limited, load
from scenarios.learners.base import Learner
from scenarios.learners.catalogue import LEARNERS
from scenarios.learners.replay.er import ErSettings, ExperienceReplay
from scenarios.networks import ARCHITECTURES
from scenarios.streams.split import split_by_class
from scenarios.streams.task import Scenario
from tests.laws import reference
from tests.scenarios.learners import tiny_learners

RECIPE = Recipe(epochs=2, batch_size=16)


def scenario(limit: int = 20) -> Scenario:
    return split_by_class(limited(load("digits"), limit))


def learner(kind: str, recipe: Recipe = RECIPE) -> Learner:
    memory = {"memory_per_class": 5} if kind == "er" else {}
    return tiny_learners.learner(kind, "cnn3", recipe, **memory)


def accuracy(of: Learner, examples: Examples, classes: tuple[int, ...]) -> float:
    with mode(of.model, training=False):
        return evaluate(of.logits, examples, 10).accuracy(classes)


@pytest.mark.parametrize("kind", ["finetune", "er"])
def test_agrees_with_the_plain_implementation(kind: str) -> None:
    """Weights after every task, and the predictions among the classes seen so far."""
    tasks = scenario().tasks
    test = join([task.test for task in tasks])
    own = learner(kind)
    plain = ARCHITECTURES["cnn3"].build((1, 8, 8), 10)
    plain_tasks = [(t.train.x, t.train.y, list(t.classes)) for t in tasks]
    memory = 5 if kind == "er" else 0
    steps = reference.learn_tasks(plain, plain_tasks, RECIPE, seed=0, memory_per_class=memory)
    for task, seen in zip(tasks, steps, strict=True):
        own.learn(task)
        for key, value in plain.state_dict().items():
            torch.testing.assert_close(own.model.state_dict()[key], value, rtol=1e-3, atol=1e-4)
        expected = Counts.of(test.y, reference.predictions(plain, test.x, seen), classes=10)
        with mode(own.model, training=False):
            got = evaluate(own.logits, test, 10)
        assert np.abs(got.table - expected.table).sum() <= 2


@pytest.mark.parametrize("kind", sorted(LEARNERS))
@pytest.mark.parametrize("done", [1, 3])
def test_a_learner_continued_from_its_state_is_the_learner(kind: str, done: int) -> None:
    whole = learner(kind)
    tasks = whole.view(scenario()).tasks
    for task in tasks:
        whole.learn(task)
    first, second = learner(kind), learner(kind)
    for task in tasks[:done]:
        first.learn(task)
    second.model.load_state_dict(copy.deepcopy(first.model.state_dict()))
    second.restore({name: t.clone() for name, t in first.state().items()}, tasks[:done])
    for task in tasks[done:]:
        second.learn(task)
    for key, value in whole.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[key], value)
    assert second.seen == whole.seen


@pytest.mark.parametrize("kind", ["er", "ewc", "ewc_online", "si", "rwalk", "gem", "icarl_hybrid1"])
def test_a_state_left_out_changes_what_is_learned(kind: str) -> None:
    """The negative control of the test above: without its memory, ER goes another way."""
    tasks = scenario().tasks
    whole, forgetful = learner(kind), learner(kind)
    for task in tasks[:2]:
        whole.learn(task)
    forgetful.model.load_state_dict(copy.deepcopy(whole.model.state_dict()))
    forgetful.restore({}, tasks[:2])
    whole.learn(tasks[2])
    forgetful.learn(tasks[2])
    weights = [p.detach() for p in whole.model.parameters()]
    other = [p.detach() for p in forgetful.model.parameters()]
    assert not all(map(torch.equal, weights, other))


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_learning_is_reproducible_and_leaves_the_global_generator_alone(kind: str) -> None:
    before = torch.get_rng_state()
    runs = [learner(kind), learner(kind)]
    tasks = runs[0].view(scenario(5)).tasks
    for run in runs:
        for task in tasks:
            run.learn(task)
    first, second = (list(run.model.parameters()) for run in runs)
    assert all(map(torch.equal, first, second))
    assert torch.equal(torch.get_rng_state(), before)


def test_finetune_is_plain_training_on_the_task_at_hand() -> None:
    tasks = scenario().tasks
    own = learner("finetune")
    plain = copy.deepcopy(own.model)
    for done, task in enumerate(tasks[:2]):
        own.learn(task)
        fit(plain, task.train, RECIPE, stream(0, "batches", done))
    assert all(map(torch.equal, own.model.parameters(), plain.parameters()))


def test_finetune_forgets_and_er_forgets_less() -> None:
    recipe = Recipe(epochs=10, batch_size=16)
    tasks = split_by_class(load("digits")).tasks
    first = {}
    for kind in ("finetune", "er"):
        own = learner(kind, recipe)
        for task in tasks:
            own.learn(task)
        first[kind] = accuracy(own, tasks[0].test, tasks[0].classes)
        assert accuracy(own, tasks[-1].test, tasks[-1].classes) > 0.7
    assert first["finetune"] < 0.1
    assert first["er"] > 0.3


def test_cumulative_starts_from_scratch_on_all_tasks_so_far() -> None:
    tasks = scenario().tasks
    own = learner("cumulative")
    for task in tasks[:3]:
        own.learn(task)
    scratch = learner("finetune").model
    fit(scratch, join([t.train for t in tasks[:3]]), RECIPE, stream(0, "batches", 2))
    assert all(map(torch.equal, own.model.parameters(), scratch.parameters()))


def test_offline_is_cumulative_on_one_task_that_is_all() -> None:
    whole = scenario().merged
    offline, cumulative = learner("offline"), learner("cumulative")
    offline.learn(whole)
    cumulative.learn(whole)
    assert all(map(torch.equal, offline.model.parameters(), cumulative.model.parameters()))


class Spy(ExperienceReplay):
    """Notes the batches that are learned."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.batches: list[tuple[Tensor, Tensor]] = []

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        both = super().batch(x, y)
        self.batches.append((both[0][len(x) :], both[1][len(x) :]))
        return both


def test_er_replays_old_examples_with_every_batch() -> None:
    tasks = scenario(20).tasks
    model = ARCHITECTURES["mlp"].build((1, 8, 8), 10)
    spy = Spy(model, Recipe(epochs=2, batch_size=8), ErSettings(memory_per_class=5), 0)
    spy.learn(tasks[0])
    assert all(len(y) == 0 for _, y in spy.batches)
    spy.batches.clear()
    spy.learn(tasks[1])
    assert [len(y) for _, y in spy.batches] == [8] * 10
    kept = spy.state()
    old = {tuple(x.flatten().tolist()) for x in kept["memory.x"][:10]}
    for x, y in spy.batches:
        rows = [tuple(one.flatten().tolist()) for one in x]
        assert set(rows) <= old
        assert len(set(rows)) == 8
        assert set(y.tolist()) <= set(tasks[0].classes)
    first, second = spy.batches[0][0], spy.batches[1][0]
    assert not torch.equal(first, second)


def test_er_keeps_that_many_of_each_class_of_its_own_examples() -> None:
    tasks = scenario(20).tasks
    own = learner("er")
    for task in tasks:
        own.learn(task)
    state = own.state()
    assert torch.bincount(state["memory.y"]).tolist() == [5] * 10
    seen = join([task.train for task in tasks])
    known = {(tuple(x.flatten().tolist()), int(y)) for x, y in zip(seen.x, seen.y, strict=True)}
    kept = [
        (tuple(x.flatten().tolist()), int(y))
        for x, y in zip(state["memory.x"], state["memory.y"], strict=True)
    ]
    assert set(kept) <= known
    assert len(set(kept)) == len(kept)


def test_er_keeps_all_of_a_class_smaller_than_the_memory() -> None:
    tasks = scenario(3).tasks
    own = learner("er")
    own.learn(tasks[0])
    assert len(own.state()["memory.y"]) == 6


def test_heads() -> None:
    """Single head: classes seen so far compete, all before any; multi-head: the task's alone."""
    tasks = scenario().tasks
    own = learner("finetune")
    x = tasks[0].test.x
    assert torch.isfinite(own.logits(x)).all()
    own.learn(tasks[0])
    own.learn(tasks[2])
    seen = torch.isfinite(own.logits(x)).any(0).nonzero().squeeze(1).tolist()
    assert seen == [0, 1, 4, 5]
    alone = torch.isfinite(own.logits(x, tasks[2])).any(0).nonzero().squeeze(1).tolist()
    assert alone == [4, 5]
    assert torch.equal(own.logits(x)[:, seen], own.model(x)[:, seen])


def test_multi_head_is_never_worse_on_the_same_model() -> None:
    tasks = scenario().tasks
    own = learner("finetune")
    for task in tasks:
        own.learn(task)
    with mode(own.model, training=False), torch.no_grad():
        for task in tasks:
            x, y = task.test.x, task.test.y
            single = (own.logits(x).argmax(1) == y).float().mean()
            multi = (own.logits(x, task).argmax(1) == y).float().mean()
            assert multi >= single


def test_a_task_met_again_adds_no_class_twice() -> None:
    tasks = scenario(5).tasks
    own = learner("finetune")
    for task in (tasks[0], tasks[1], replace(tasks[0], index=3)):
        own.learn(task)
    assert own.seen == (0, 1, 2, 3)
