"""Learners of every kind on a few digits, small enough to be learned at every test."""

import copy
from functools import cache

import torch
from torch import nn

from probe.by_layer.head_predictions import Heads
from probe.examples import Examples
from probe.modules import mode
from probe.seeding import stream
from probe.tasks import Task
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import limited, load
from scenarios.learners.catalog import LEARNERS, settings_of
from scenarios.networks import build_network
from scenarios.streams import split_by_class

RECIPE = Recipe(
    epochs=2,
    batch_size=16,
    init="murata",
)
_MAP = {
    "rows": 4,
    "columns": 4,
    "base_iterations": 40,
    "iterations": 20,
}
SMALL = {
    "er": {"memory_per_class": 3},
    "gem": {"memory_per_class": 3},
    "icarl": {"exemplars": {"per_class": 3}},
    "icarl_hybrid1": {"exemplars": {"per_class": 3}},
    "pathnet": {
        **{
            "modules": 4,
            "active": 2,
            "width": 8,
        },
        **{
            "population": 4,
            "generations": 3,
            "batches": 2,
        },
    },
    "geppnet": _MAP,
    "geppnet_stm": {
        **_MAP,
        "memory": 5,
        "sleep_interval": 10,
    },
    "fel": {
        "hidden": 30,
        "units": 200,
    },
}


@cache
def digits(train_limit, classes_per_task=2):
    """Return tasks of equally many training examples."""
    return split_by_class(limited(load("digits"), train_limit), classes_per_task)


def points(
    index,
    n=24,
    dims=6,
    apart=0.5,
    dtype=torch.float64,
):
    """Return the task number `index`, from 0, of two classes of points in a few dimensions."""
    classes = (2 * index, 2 * index + 1)
    y = torch.tensor(classes).repeat(n // 2)
    x = torch.randn(
        n,
        dims,
        generator=torch.Generator().manual_seed(index),
        dtype=dtype,
    )
    data = Examples(x + apart * y[:, None].to(dtype), y)
    return Task(
        index=index + 1,
        name=str(classes),
        classes=classes,
        train=data,
        test=data,
    )


def settings(kind, **given):
    """Return a kind's settings: those given, small memories, and its defaults for the rest."""
    return settings_of(
        {
            "kind": kind,
            **SMALL.get(kind, {}),
            **given,
        }
    )


def learner(
    kind,
    name="mlp",
    recipe=RECIPE,
    of=None,
    model=None,
    **given,
):
    """Return a learner with a fresh network, always the same: its own where it brings one.

    Such a learner sees `own.view(digits(...))`; its network is for ten tasks, or fewer.
    of: a class in place of the kind's; model: another network; given: settings.
    """
    chosen = settings(kind, **given)
    own = of or LEARNERS[kind]
    if model is None:
        shape = own.view(digits(1)).tasks[0].train.x.shape[1:]
        brought = bool(own.own_features)
        with torch.random.fork_rng():
            model = (
                own.network(chosen, shape, 10, 10)
                if brought
                else build_network(name, shape, 10)
            )
        initialize(model, recipe.init, stream(0, "init"))
    return own(model, recipe, chosen, 0)


def seeded(build, seed=0):
    """Return a model whose first weights torch draws from that seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()


def with_norm():
    """Return a convolution with batch norm, for the digits."""
    first = (lambda: nn.Conv2d(1, 4, 3), lambda: nn.BatchNorm2d(4))
    return chain(*first, nn.ReLU, nn.Flatten, lambda: nn.Linear(144, 10))


def noisy_network():
    """Return a network with dropout and batch norm, for the digits."""
    first = (
        nn.Flatten,
        lambda: nn.Linear(64, 20),
        lambda: nn.BatchNorm1d(20),
        nn.ReLU,
    )
    return chain(*first, lambda: nn.Dropout(0.3), lambda: nn.Linear(20, 10))


def chain(*layers):
    return seeded(lambda: nn.Sequential(*(make() for make in layers)))


def logits(own, x, task=None):
    """Return scores, -inf for the classes that do not compete: among the seen, or the task's."""
    scores = own.scores(x)
    competing = list(own.seen if task is None else task.classes) or [
        *range(scores.shape[1])
    ]
    barred = torch.ones(scores.shape[1], dtype=torch.bool)
    barred[competing] = False
    return scores.masked_fill(barred.to(scores.device), -torch.inf)


def by_head(own, scenario):
    """Return the predictions of all test data under every head."""
    with mode(own.model, training=False):
        heads = Heads(
            scenario=scenario, classes_seen=own.seen, task_aware=own.task_aware
        )
        return heads.predict(own.scores)[0]


def learn(own, tasks):
    for task in tasks:
        own.learn(task)
    return own


def resumed(make, tasks, stops=(1, 3)):
    """Learn all tasks in one go, and go on from what there was after some of them."""
    whole = make()
    kept = {}
    for done, task in enumerate(tasks, 1):
        whole.learn(task)
        kept[done] = copy.deepcopy((whole.model.state_dict(), whole.state()))
    others = []
    for done in stops:
        other = make()
        other.model.load_state_dict(kept[done][0])
        other.restore(kept[done][1], tasks[:done])
        others.append(learn(other, tasks[done:]))
    return whole, others


def equal(one, other):
    """Whether both have the same tensors by the same names, bit for bit."""
    return one.keys() == other.keys() and all(
        torch.equal(one[n], t) for n, t in other.items()
    )


def same(a, b):
    """Whether both have the same model, buffers included, bit for bit."""
    return equal(a.model.state_dict(), b.model.state_dict())


def rows(x):
    """Return the examples as things that can be compared and put into sets."""
    return [tuple(one.flatten().tolist()) for one in x]
