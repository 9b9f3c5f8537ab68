"""Every learner on three tiny tasks in float64: counts that change when results do.

In float64 the counts do not hang on how a machine rounds, so that they can be kept and
compared.
"""

import torch

from probe.examples import Examples
from probe.metrics.counts import Counts
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import Dataset, limited, load
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import mlp
from scenarios.streams import split_by_class
from tests.scenarios.learners.tiny_learners import by_head, settings

RECIPE = Recipe(
    epochs=4,
    batch_size=8,
    learning_rate=0.01,
    init="torch",
)
CLASSES = 6
WIDTH = 16
# What is needed to be seen in the counts of so short a study.
_MAP = {
    "base_iterations": 400,
    "iterations": 400,
    "readout_rate": 0.05,
}
CHANGED = {
    "ewc": {"strength": 1000.0},
    "ewc_online": {"strength": 300.0},
    "si": {"strength": 10.0},
    "rwalk": {"strength": 30.0},
    "lwf": {"loss_classes": "task"},
    "geppnet": _MAP,
    "geppnet_stm": {
        **_MAP,
        "memory": 20,
        "sleep_interval": 100,
    },
}

"""A confusion matrix (K, K), true x predicted."""


def tiny_study(kind):
    """Train a learner with seed 0; return the counts before any task and after each one, and it.

    They are of the test data of all tasks: multi-head where the learner must be told
    the task, else single-head. Offline training learns all tasks as one.
    """
    scenario = LEARNERS[kind].view(scenario_of_digits())
    own = learner(kind, scenario)
    tables = [_counts(own, scenario)]
    for task in (scenario.merged,) if own.offline else scenario.tasks:
        own.learn(task)
        tables.append(_counts(own, scenario))
    return tables, own


def scenario_of_digits():
    """Three tasks of two digits, 24 examples of each to learn and 16 to test."""
    digits = limited(load("digits"), train=24, test=16)
    halves = {
        "train": digits.train,
        "test": digits.test,
    }
    few = {name: half.of_classes(range(CLASSES)) for name, half in halves.items()}
    double = {name: Examples(half.x.double(), half.y) for name, half in few.items()}
    return split_by_class(Dataset(name="digits", classes=CLASSES, **double))


def learner(kind, scenario):
    """Make a learner of all in float64, its network always the same; its own is tiny too."""
    of = LEARNERS[kind]
    chosen = settings(kind, **CHANGED.get(kind, {}))
    shape = scenario.tasks[0].train.x.shape[1:]
    brought = bool(of.own_features)
    with torch.random.fork_rng():
        network = (
            of.network(chosen, shape, CLASSES, 3)
            if brought
            else mlp(shape, CLASSES, WIDTH)
        )
    initialize(network.double(), RECIPE.init, stream(0, "init"))
    recipe = chosen.training.applied_to(RECIPE) if chosen.training else RECIPE
    return of(network, recipe, chosen, 0)


def _counts(own, scenario):
    """Count over all tasks, whose classes are disjoint."""
    predicted = by_head(own, scenario)["multi" if own.task_aware else "single"]
    return Counts.of(scenario.test.y, predicted, CLASSES).table.tolist()
