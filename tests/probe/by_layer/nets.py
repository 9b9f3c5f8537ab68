"""Small networks on the digits, in all the states that an analysis tells apart."""

import copy
from collections import OrderedDict
from functools import cache

import numpy as np
import torch
from torch import nn

from probe import Examples, Recipe, analyze, predictions
from probe.seeding import stream
from probe.tables.table_file import records
from probe.training.fresh_weights import initialize
from probe.training.loop import fit
from scenarios.data.datasets import load

TASKS = [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
FEATURES = ["relu1", "relu2", "output"]
INNER = FEATURES[:-1]
RECIPE = Recipe(epochs=12, batch_size=16, learning_rate=1e-2)
SHORT = Recipe(epochs=1)
TRAINED = Recipe(epochs=20, batch_size=16, learning_rate=5e-3)


@cache
def digits():
    """Return training and test examples, task by task, as a study has them."""
    data = load("digits")
    both = []
    for half in (data.train.take(torch.arange(400)), data.test):
        task = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])[half.y]
        own = half.take(task.argsort(stable=True))
        both.append(Examples(own.x.flatten(1), own.y))
    return both[0], both[1]


def fresh(seed=0, norm=False):
    """An untrained network, narrow, so that training it matters at every layer."""
    first, second = nn.Linear(64, 10), nn.Linear(10, 6)
    layers = [("hidden1", first), ("relu1", nn.ReLU())]
    layers += [("norm", nn.BatchNorm1d(10))] if norm else []
    layers += [("hidden2", second), ("relu2", nn.ReLU()), ("output", nn.Linear(6, 10))]
    net = nn.Sequential(OrderedDict(layers))
    initialize(net, "torch", stream(seed, "init"))
    return net


@cache
def offline():
    """A network trained on all tasks at once; not to be changed."""
    net = fresh()
    fit(
        net,
        digits()[0],
        TRAINED,
        stream(0, "offline"),
    )
    return net


@cache
def finetuned(tasks=3):
    """A network that was trained on one task after the other; not to be changed."""
    if not tasks:
        return fresh()
    net, last = copy.deepcopy(finetuned(tasks - 1)), tasks - 1
    fit(
        net,
        digits()[0].of_classes(TASKS[last]),
        TRAINED,
        stream(last, "task"),
    )
    return net


def with_output_of(model, other):
    """A network with the output layer of another."""
    mixed = copy.deepcopy(model)
    mixed.get_submodule("output").load_state_dict(
        other.get_submodule("output").state_dict()
    )
    return mixed


def analyzed(models, **given):
    train, test = digits()
    asked = {
        "train": train,
        "test": test,
        "tasks": TASKS,
        "features": FEATURES,
        "recipe": RECIPE,
    }
    return analyze(models, **(asked | given))


def rows(analysis, quantity, task_position=None):
    """The rows of one quantity by readout and feature."""
    return {
        (row.readout, row.feature): row
        for row in records(analysis.layers())
        if row.quantity == quantity and row.task_position == task_position
    }


def classes(found, tasks_seen, feature="output", readout=""):
    """The classes predicted for each test example, by seed; after 0 or `offline`: the control's."""
    controls = {
        0: ("untrained", 0),
        "offline": ("offline", 3),
    }
    learner, steps = controls.get(tasks_seen, ("model", tasks_seen))
    frame = predictions(found)
    here = (frame["learner"] == learner) & (frame["tasks_seen"] == steps)
    here &= (frame["feature"] == feature) & (frame["readout"] == readout)
    frame = frame[here & ((frame["head"] == "single") | (readout != ""))]
    np.testing.assert_array_equal(frame["label"], np.resize(digits()[1].y, len(frame)))
    return frame["predicted"].to_numpy(np.int64).reshape(-1, len(digits()[1]))


def right(found, tasks_seen, feature="output", readout=""):
    """Whether each test example is classified correctly, by seed, see `classes`."""
    return classes(found, tasks_seen, feature, readout) == digits()[1].y.numpy()
