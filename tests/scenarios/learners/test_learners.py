"""Laws of every learner, and a learner continued from its state is the learner."""

from typing import get_args

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from probe.examples import join
from probe.modules import mode
from probe.seeding import stream
from probe.training.loop import fit
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.exemplars import Strategy
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    equal,
    learn,
    learner,
    resumed,
    same,
    with_norm,
)


def stored(**exemplars):
    return {"exemplars": exemplars}


# Every learner; every strategy of storing, loss and way to replay.
CASES = [
    *((kind, {}) for kind in LEARNERS),
    *(
        ("finetune", stored(total=30, sampling=strategy))
        for strategy in get_args(Strategy)
    ),
    (
        "finetune",
        {"loss_classes": "seen", **stored(total=13, replay="joined", balanced=True)},
    ),
    ("finetune", {"loss_classes": "task", **stored(total=13)}),
    ("rwalk", stored(total=12)),
    ("lwf", {"loss_classes": "task", **stored(per_class=3, balanced=True)}),
]


FREEZING = [
    ("rwalk", {"freeze": ["0", "1"]}),
    ("si", {"freeze": ["0"], "freeze_from": 3}),
]


@pytest.mark.parametrize(("kind", "given"), CASES + FREEZING)
def test_a_learner_continued_from_its_state_is_the_learner(kind, given):
    """In its model, in what it carries and stores, and in how it classifies; with batch norm."""

    def make():
        return learner(
            kind, model=None if LEARNERS[kind].own_features else with_norm(), **given
        )

    before = torch.get_rng_state()
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


def test_cumulative_and_offline_train_from_scratch_on_all_tasks_so_far():
    """With the streams of the task at hand."""
    scenario = digits(10)
    for kind, tasks in (
        ("cumulative", scenario.tasks[:2]),
        ("offline", (scenario.merged,)),
    ):
        own = learn(learner(kind, "cnn3"), tasks)
        scratch = learner("er", "cnn3").model
        batches = stream(0, "batches", len(tasks) - 1)
        fit(scratch, join([t.train for t in tasks]), RECIPE, batches)
        assert all(map(torch.equal, own.model.parameters(), scratch.parameters()))


def test_a_class_met_again_learns_from_its_labels_only():
    task = digits(12).tasks[0]
    own = learn(learner("icarl", exemplars={"total": 12}), [task])
    own.begin(task)
    x = task.train.x
    y = task.train.y
    scores = own.model(x)[:, list(task.classes)]
    targets = (y[:, None] == torch.tensor(task.classes)).float()
    expected = binary_cross_entropy_with_logits(scores, targets, reduction="sum") / len(
        x
    )
    torch.testing.assert_close(own.loss(own.model, x, y), expected)
