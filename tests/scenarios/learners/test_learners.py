"""Laws of every learner, and a learner continued from its state is the learner."""

from collections.abc import Callable
from typing import get_args

import pytest
import torch

from probe.examples import join
from probe.modules import mode
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.exemplars import Strategy
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    equal,
    learn,
    learner as tiny_learner,
    resumed,
    same,
    with_norm,
)


def learner(kind: str, recipe: Recipe = RECIPE, **given: object) -> Learner:
    memory = {"memory_per_class": 5} if kind == "er" else {}
    return tiny_learner(kind, "cnn3", recipe, **memory, **given)


def with_batch_norm(kind: str) -> Learner:
    return tiny_learner(kind, model=None if LEARNERS[kind].own_features else with_norm())


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
