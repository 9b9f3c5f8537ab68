"""Learners against plain loops over three tasks of unlike sizes, whose batches nothing divides.

The network has batch norm and dropout: what teaches, projects, chooses or classifies
does so in eval mode.
"""

import copy
from dataclasses import replace

import pytest
import torch

from probe.examples import Examples
from probe.modules import mode
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.recipe import Recipe
from scenarios.networks import build_network
from tests.laws.plain_learners import PlainLearner
from tests.laws.plain_penalties import Plain, fisher_by_loop, weights
from tests.scenarios.learners.tiny_learners import digits, learner, noisy_network

SIZES = (21, 30, 13)  # 9, 12 and 6 steps by the recipe
RECIPE = Recipe(epochs=3, batch_size=8, learning_rate=5e-3)


def tasks():
    """Return three tasks of two classes in float64."""
    cut = []
    for task, size in zip(digits(20).tasks, SIZES, strict=False):
        order = torch.randperm(40, generator=stream(size, "examples"))[:size]
        train = task.train.take(order)
        cut.append(replace(task, train=Examples(train.x.double(), train.y)))
    return cut


def resumed(own, learned):
    """Return a learner that goes on from the states of one, as after an interruption."""
    other = type(own)(
        copy.deepcopy(own.model),
        own.recipe,
        own.settings,
        own.seed,
    )
    other.restore(copy.deepcopy(own.state()), learned)
    return other


CASES = [
    ("er", {"memory_per_class": 3}),
    ("gem", {"memory_per_class": 3, "margin": 0.0}),
    ("gem", {"memory_per_class": 5, "margin": 0.5}),
    ("lwf", {"strength": 2.0, "temperature": 3.0}),
    ("icarl", {"exemplars": {"total": 13}}),
    ("finetune", {"exemplars": {"total": 13}}),
    (
        "finetune",
        {
            "exemplars": {
                "per_class": 2,
                "sampling": "fifo",
                "replay": "joined",
            }
        },
    ),
    ("finetune", {"exemplars": {"total": 17, "sampling": "mean_of_features"}}),
]


@pytest.mark.parametrize(("kind", "changes"), CASES)
def test_learners_are_their_plain_loops(kind, changes, monkeypatch):
    # A memory of more than one batch, the last of them smaller.
    monkeypatch.setattr("scenarios.learners.gem.batch_size_for", lambda *_: 4)
    model = noisy_network().double()
    own = learner(kind, recipe=RECIPE, model=model, **changes)
    plain = PlainLearner(kind, copy.deepcopy(model), RECIPE, own.settings)
    x = digits(20).tasks[0].test.x[:50].double()
    twins = plain.learn_all(tasks())
    for done, (task, twin) in enumerate(zip(tasks(), twins, strict=True)):
        own.learn(task)
        own = resumed(own, tasks()[: done + 1])
        for name, value in twin.state_dict().items():
            found = own.model.state_dict()[name]
            torch.testing.assert_close(
                found,
                value,
                rtol=1e-5,
                atol=1e-7,
                msg=name,
            )
        scores = twin.eval()(x)
        if kind == "icarl":
            scores = plain.nearest_means(x)
        with mode(own.model, training=False):
            torch.testing.assert_close(
                own.scores(x),
                scores,
                rtol=1e-5,
                atol=1e-6,
            )
        twin.train()


PENALTIES = [
    ("ewc", {"strength": 500.0, "fisher_examples": 9}),
    ("ewc_online", {"strength": 500.0, "alpha": 0.07}),
    ("si", {"strength": 5.0, "damping": 0.02}),
    (
        "rwalk",
        {
            "strength": 50.0,
            "interval": 7,
            "alpha": 0.2,
            "epsilon": 1e-3,
        },
    ),
    (
        "rwalk",
        {
            "strength": 50.0,
            "interval": 5,
            "distance": "euclidean",
        },
    ),
    (
        "ewc_online",
        {
            "strength": 5.0,
            "alpha": 0.9,
            "fisher_interval": 4,
            "normalized": True,
        },
    ),
    (
        "rwalk",
        {
            "strength": 5.0,
            "interval": 5,
            "fisher_interval": 4,
            "clipped": "interval",
        },
    ),
]


@pytest.mark.parametrize(("kind", "changes"), PENALTIES)
def test_penalties_are_their_formulas(kind, changes):
    """Steps of a task that no interval divides: 9, 12 and 6 by 7 or 5."""
    model = build_network("mlp", (1, 8, 8), 10).double()
    initialize(model, "torch", stream(0, "init"))
    own = learner(kind, recipe=RECIPE, model=model, **changes)
    plain = Plain(own.settings, copy.deepcopy(model))
    for done, task in enumerate(tasks()):
        own.learn(task)
        own = resumed(own, tasks()[: done + 1])
        plain.learn(task.train, RECIPE, stream(0, "batches", done))
        torch.testing.assert_close(
            weights(own.model),
            weights(plain.model),
            rtol=1e-6,
            atol=1e-9,
        )


@pytest.mark.parametrize("anchors", ["each", "last"])
def test_fishers_are_taken_in_eval_mode_and_added_or_replaced(anchors):
    """On batch norm and dropout; of a task's examples, more than one chunk, and no exemplars."""
    model = noisy_network().double()
    own = learner(
        "ewc",
        recipe=RECIPE,
        model=model,
        strength=0.0,
        anchors=anchors,
        exemplars={"per_class": 2, "replay": "joined"},
    )
    expected = {}
    for task in tasks():
        many = task.train.take(
            torch.arange(len(task.train)).repeat(1 + 520 // len(task.train))
        )
        task = replace(task, train=many)
        own.learn(task)
        fisher = fisher_by_loop(copy.deepcopy(own.model), many)
        earlier = expected if anchors == "each" else {}
        expected = {
            name: each + earlier.get(name, 0.0) for name, each in fisher.items()
        }
        for name, each in expected.items():
            torch.testing.assert_close(
                own.penalty.importance[name],
                each,
                rtol=1e-6,
                atol=1e-12,
            )
