"""Learners of every kind on a few digits, small enough to be learned at every test."""

from __future__ import annotations

import torch
from pydantic import TypeAdapter
from torch import nn

from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import limited, load
from scenarios.learners.base import Learner, Settings
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.networks import build_network
from scenarios.streams.split import split_by_class
from scenarios.streams.task import Scenario

RECIPE = Recipe(epochs=2, batch_size=16)
_MAP: dict[str, object] = {"rows": 4, "columns": 4, "base_iterations": 40, "iterations": 20}
SMALL: dict[str, dict[str, object]] = {
    "er": {"memory_per_class": 3},
    "gem": {"memory_per_class": 3},
    "icarl": {"exemplars": {"per_class": 3}},
    "icarl_hybrid1": {"exemplars": {"per_class": 3}},
    "pathnet": {
        **{"modules": 4, "active": 2, "width": 8},
        **{"population": 4, "generations": 3, "batches": 2},
    },
    "geppnet": _MAP,
    "geppnet_stm": {**_MAP, "memory": 5, "sleep_interval": 10},
    "fel": {"hidden": 30, "units": 200},
}
SHAPE, CLASSES = (1, 8, 8), 10


def digits(train_limit: int, classes_per_task: int = 2) -> Scenario:
    """Return tasks of equally many training examples."""
    return split_by_class(limited(load("digits"), train_limit), classes_per_task)


def settings(kind: str, **given: object) -> Settings:
    """Return a kind's settings: those given, small memories, and its defaults for the rest."""
    checked: Settings = TypeAdapter(AnySettings).validate_python(
        {"kind": kind, **SMALL.get(kind, {}), **given}
    )
    return checked


def network(name: str = "mlp", recipe: Recipe = RECIPE) -> nn.Sequential:
    model = build_network(name, SHAPE, CLASSES)
    initialize(model, recipe.init, stream(0, "init"))
    return model


def learner(kind: str, name: str = "mlp", recipe: Recipe = RECIPE, **given: object) -> Learner:
    """Return a learner with a fresh network, always the same: its own where it brings one.

    Such a learner sees `own.view(digits(...))`; its network is for ten tasks, or fewer.
    """
    chosen, own = settings(kind, **given), LEARNERS[kind]
    if not own.own_features:
        return own(network(name, recipe), recipe, chosen, 0)
    shape = own.view(digits(1)).tasks[0].train.x.shape[1:]
    with torch.random.fork_rng():
        model = own.network(chosen, shape, CLASSES, tasks=10)
    initialize(model, recipe.init, stream(0, "init"))
    return own(model, recipe, chosen, 0)


def weights(of: Learner) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in of.model.state_dict().values()]
