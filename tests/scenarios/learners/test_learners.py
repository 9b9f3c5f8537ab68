"""What each learner must do, and that a learner continued from its state is the learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from probe.examples import Examples, join
from probe.metrics.counts import Counts
from probe.modules import mode
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.sampling import Strategy
from scenarios.networks import ARCHITECTURES
from tests.laws import reference
from tests.laws.counting import evaluate
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    equal,
    forgetful,
    learn,
    resumed,
    same,
    with_norm,
)
from tests.scenarios.learners.tiny_learners import learner as tiny_learner

NORM_FREE = ("pathnet", "geppnet", "geppnet_stm", "fel")  # they bring a network of their own


def learner(kind: str, recipe: Recipe = RECIPE, **given: object) -> Learner:
    memory = {"memory_per_class": 5} if kind == "er" else {}
    return tiny_learner(kind, "cnn3", recipe, **memory, **given)


def with_batch_norm(kind: str, **given: object) -> Learner:
    return tiny_learner(kind, model=None if kind in NORM_FREE else with_norm(), **given)


def accuracy(of: Learner, examples: Examples, classes: tuple[int, ...]) -> float:
    with mode(of.model, training=False):
        return evaluate(of.logits, examples, 10).accuracy(classes)


@pytest.mark.parametrize("kind", ["finetune", "er"])
def test_agrees_with_the_plain_implementation(kind: str) -> None:
    """Weights after every task, and the predictions among the classes seen so far."""
    tasks = digits(20).tasks
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


def kept_by(**exemplars: object) -> Callable[[], Learner]:
    return lambda: tiny_learner("finetune", exemplars=exemplars)


# Each learner on a convolutional network and on one with batch norm (where it brings none of its
# own); every strategy of storing; and outputs that compete, with both ways to replay.
MAKE: dict[str, Callable[[], Learner]] = {
    **{kind: lambda kind=kind: learner(kind) for kind in LEARNERS},
    **{
        f"{kind} with norm": lambda kind=kind: with_batch_norm(kind)
        for kind in LEARNERS
        if kind not in NORM_FREE
    },
    **{f"by {each}": kept_by(total=30, sampling=each) for each in get_args(Strategy)},
    **{
        f"{competing} {replay}": lambda competing=competing, replay=replay: tiny_learner(
            "finetune", competing=competing, exemplars={"total": 13, "replay": replay}
        )
        for competing in ("all", "seen", "task")
        for replay in ("batch", "joined")
    },
    **{
        f"{kind} with exemplars": lambda kind=kind: tiny_learner(kind, exemplars={"total": 12})
        for kind in ("ewc", "ewc_online", "si", "rwalk", "lwf", "fel")
    },
}


@pytest.mark.parametrize("name", MAKE)
def test_a_learner_continued_from_its_state_is_the_learner(name: str) -> None:
    """In its model, in what it carries and stores, and in how it classifies."""
    make = MAKE[name]
    tasks = make().view(digits(12)).tasks[:4]
    whole, others = resumed(make, tasks)
    for other in others:
        assert same(whole, other)
        assert other.seen == whole.seen
        assert equal(whole.state(), other.state())
        assert whole.stored_bytes() == other.stored_bytes()
        x = tasks[0].test.x
        with mode(whole.model, training=False), mode(other.model, training=False):
            assert torch.equal(whole.scores(x), other.scores(x))


@pytest.mark.parametrize("kind", ["er", "ewc", "ewc_online", "si", "rwalk", "gem", "icarl_hybrid1"])
def test_a_state_left_out_changes_what_is_learned(kind: str) -> None:
    """The negative control of the test above: without its memory, ER goes another way."""
    tasks = digits(20).tasks
    whole = learn(learner(kind), tasks[:2])
    other = forgetful(whole, lambda: learner(kind), tasks[:2])
    assert not same(learn(whole, tasks[2:3]), learn(other, tasks[2:3]))


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_learning_is_reproducible_and_leaves_the_global_generator_alone(kind: str) -> None:
    """With batch norm, whose running statistics count, where the network is not its own."""
    before = torch.get_rng_state()
    runs = [with_batch_norm(kind), with_batch_norm(kind)]
    tasks = runs[0].view(digits(5)).tasks
    assert same(*(learn(run, tasks) for run in runs))
    assert torch.equal(torch.get_rng_state(), before)
    state = runs[0].model.state_dict().values()
    assert all(torch.isfinite(tensor).all() for tensor in state)


def test_finetune_forgets_and_er_forgets_less() -> None:
    tasks, first = digits(60).tasks, {}
    for kind in ("finetune", "er"):
        own = learn(learner(kind, Recipe(epochs=10, batch_size=16)), tasks)
        first[kind] = accuracy(own, tasks[0].test, tasks[0].classes)
        assert accuracy(own, tasks[-1].test, tasks[-1].classes) > 0.7
    assert first["finetune"] < 0.1
    assert first["er"] > 0.3


def test_cumulative_starts_from_scratch_on_all_tasks_so_far() -> None:
    tasks = digits(20).tasks[:3]
    own = learn(learner("cumulative"), tasks)
    scratch = learner("finetune").model
    fit(scratch, join([t.train for t in tasks]), RECIPE, stream(0, "batches", 2))
    assert all(map(torch.equal, own.model.parameters(), scratch.parameters()))


def test_heads() -> None:
    """Single head: classes seen so far compete, all before any; multi-head: the task's alone."""
    tasks = digits(20).tasks
    own = learner("finetune")
    x = tasks[0].test.x
    assert torch.isfinite(own.logits(x)).all()
    learn(own, [tasks[0], tasks[2]])
    seen = torch.isfinite(own.logits(x)).any(0).nonzero().squeeze(1).tolist()
    assert seen == [0, 1, 4, 5]
    alone = torch.isfinite(own.logits(x, tasks[2])).any(0).nonzero().squeeze(1).tolist()
    assert alone == [4, 5]
    assert torch.equal(own.logits(x)[:, seen], own.model(x)[:, seen])


def test_a_task_met_again_adds_no_class_twice() -> None:
    tasks = digits(5).tasks
    own = learn(learner("finetune"), (tasks[0], tasks[1], replace(tasks[0], index=3)))
    assert own.seen == (0, 1, 2, 3)
