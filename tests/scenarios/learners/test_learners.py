"""Laws of every learner, and a learner continued from its state is the learner."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
import pytest
import torch

from probe.examples import join
from probe.metrics.counts import Counts
from probe.modules import mode
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.exemplars import Strategy
from scenarios.networks import ARCHITECTURES
from tests.laws import reference
from tests.laws.counting import evaluate
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    equal,
    learn,
    learner as tiny_learner,
    logits,
    resumed,
    same,
    with_norm,
)


def learner(kind: str, recipe: Recipe = RECIPE, **given: object) -> Learner:
    memory = {"memory_per_class": 5} if kind == "er" else {}
    return tiny_learner(kind, "cnn3", recipe, **memory, **given)


def with_batch_norm(kind: str) -> Learner:
    return tiny_learner(kind, model=None if LEARNERS[kind].own_features else with_norm())


@pytest.mark.parametrize("kind", ["finetune", "er"])
def test_agrees_with_the_plain_implementation(kind: str) -> None:
    """Weights after every task, and the predictions among the classes seen so far."""
    tasks = digits(10).tasks[:3]
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
            got = evaluate(partial(logits, own), test, 10)
        assert np.abs(got.table - expected.table).sum() <= 2


def finetune(**given: object) -> Callable[[], Learner]:
    return lambda: tiny_learner("finetune", **given)


# Each learner on a network with batch norm (unless it brings its own); every strategy of storing;
# and outputs that compete, with both ways to replay.
MAKE: dict[str, Callable[[], Learner]] = {
    **{kind: lambda kind=kind: with_batch_norm(kind) for kind in LEARNERS},
    **{
        f"by {each}": finetune(exemplars={"total": 30, "sampling": each})
        for each in get_args(Strategy)
    },
    **{
        f"{loss_classes} {replay}": finetune(
            loss_classes=loss_classes, exemplars={"total": 13, "replay": replay}
        )
        for loss_classes, replay in (("all", "batch"), ("seen", "joined"), ("task", "batch"))
    },
    **{
        f"{kind} with exemplars": lambda kind=kind: tiny_learner(kind, exemplars={"total": 12})
        for kind in ("rwalk", "lwf")
    },
}


@pytest.mark.parametrize("name", MAKE)
def test_a_learner_continued_from_its_state_is_the_learner(name: str) -> None:
    """In its model, in what it carries and stores, and in how it classifies."""
    make, before = MAKE[name], torch.get_rng_state()
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
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.isfinite(each).all() for each in whole.model.state_dict().values())


def test_cumulative_and_offline_train_from_scratch_on_all_tasks_so_far() -> None:
    """With the streams of the task at hand."""
    scenario = digits(10)
    for kind, tasks in (("cumulative", scenario.tasks[:2]), ("offline", (scenario.merged,))):
        own, scratch = learn(learner(kind), tasks), learner("finetune").model
        batches = stream(0, "batches", len(tasks) - 1)
        fit(scratch, join([t.train for t in tasks]), RECIPE, batches)
        assert all(map(torch.equal, own.model.parameters(), scratch.parameters()))
