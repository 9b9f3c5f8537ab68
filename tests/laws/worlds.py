"""Two run directories of four tasks of unlike sizes, in orders that are not their own inverse.

One is of networks in files that were never trained, by `analyze`; one of a study whose
learners train a network with batch norm and dropout, of which every state is kept.
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import probe
from scenarios.learners.base import Learner
from tests.scenarios.tiny_run import Tiny

TASKS = ((0, 1), (2,), (3, 4, 5), (6, 7, 8, 9))
NAMES = ("0-1", "2", "3-5", "6-9")
ORDERS = {"cyclic": (1, 2, 3, 0), "crossed": (2, 0, 3, 1)}
T = len(TASKS)

STUDY = """
name = "orders"
[orders]
cyclic = [2, 3, 4, 1]
crossed = [3, 1, 4, 2]
[scenario]
data = "digits"
tasks = [[0, 1], [2], [3, 4, 5], [6, 7, 8, 9]]
train_limit = 12
test_limit = 9
[network]
name = "noisy"
[training]
epochs = 2
batch_size = 13
learning_rate = 0.01
[probing]
readouts = { retrain = "all", ncm = "all" }
diagnostics = false
[learners.finetune]
[learners.er]
memory_per_class = 2
[learners.offline]
"""
NETWORK = '''
"""A network with batch norm and dropout."""

from collections import OrderedDict

from torch import nn

import probe


@probe.network("noisy", features=["first", "second"])
def build():
    """Make the network."""
    first = nn.Sequential(nn.Flatten(), nn.Linear(64, 14), nn.BatchNorm1d(14), nn.ReLU())
    second = nn.Sequential(nn.Dropout(0.3), nn.Linear(14, 12), nn.BatchNorm1d(12), nn.ReLU())
    output = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 10))
    return nn.Sequential(OrderedDict(first=first, second=second, output=output))
'''

Half = tuple[Tensor, Tensor]
Learned = tuple[str, int, tuple[str, ...]]
"""A state of a network: the learner's kind, the seed, and the names of the tasks learned."""


@dataclass(frozen=True, kw_only=True)
class World:
    """A run directory, its seeds, and the networks by what they have learned, in training mode."""

    folder: Path
    learners: tuple[str, ...]
    readouts: tuple[str, ...]
    features: tuple[str, ...]
    seeds: int
    test_counts: tuple[int, ...]
    train: Half
    test: Half
    networks: dict[Learned, nn.Module] = field(default_factory=dict)


def small():
    """Return a network of three dense layers, for points in five dimensions."""
    layers = nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 10)
    return nn.Sequential(*layers)


def fitted(x, y, base=None):
    """Return one with an output that is fitted to some of the points by least squares."""
    network = small()
    some = torch.randperm(len(y))[: len(y) // 2]
    with torch.no_grad():
        if base is not None:
            # Near a base, units keep their places.
            pairs = zip(network.parameters(), base.parameters(), strict=True)
            for parameter, value in pairs:
                parameter.mul_(0.25).add_(value)
        hidden = torch.cat([network[:-1](x[some]), torch.ones(len(some), 1)], dim=1)
        targets = nn.functional.one_hot(y[some], 10).float()
        fit = torch.linalg.pinv(hidden, rtol=1e-3) @ targets
        network[-1].weight.copy_(fit[:-1].T)
        network[-1].bias.copy_(fit[-1])
    return network


def saved(folder, train, seed):
    """Save the networks of a seed in files; return them by what they have learned."""
    untrained = small()
    offline = fitted(*train)
    networks = {
        ("untrained", seed, ()): untrained,
        ("offline", seed, NAMES): offline,
    }
    torch.save(offline.state_dict(), folder / f"offline-{seed}.pt")
    for name, order in ORDERS.items():
        torch.save(untrained.state_dict(), folder / f"{name}-{seed}-0.pt")
        names = tuple(NAMES[task] for task in order)
        for seen in range(1, T + 1):
            network = fitted(*train, untrained)
            networks["model", seed, names[:seen]] = network
            torch.save(network.state_dict(), folder / f"{name}-{seed}-{seen}.pt")
    return networks


def of_networks(folder):
    """Analyze networks of fresh weights, saved in files, with as many test examples as there are.

    The readout of class means needs no training, and is right above chance in all of
    them.
    """
    draw = torch.Generator().manual_seed(0)
    centers = 2 * torch.randn(10, 5, generator=draw)

    def points(counts):
        y = torch.arange(10).repeat_interleave(torch.tensor(counts))
        y = y[torch.randperm(len(y), generator=draw)]
        return centers[y] + torch.randn(len(y), 5, generator=draw), y

    train = points([8] * 10)
    test = points([9, 4, 12, 5, 8, 11, 6, 7, 3, 10])
    networks = {}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for seed in range(3):
            networks |= saved(folder, train, seed)
    orders = {name: np.add(order, 1).tolist() for name, order in ORDERS.items()}
    model = probe.Model(
        str(folder / "{order}-{seed}-{task}.pt"),
        fresh=small,
        orders=orders,
    )
    analysis = probe.analyze(
        model,
        train,
        test,
        tasks=TASKS,
        features=["0", "2"],
        offline=str(folder / "offline-{seed}.pt"),
        readouts=("ncm",),
    )
    analysis.save(folder / "run")
    counts = test[1].bincount()
    return World(
        folder=folder / "run",
        learners=("model",),
        readouts=("ncm",),
        features=("0", "2"),
        seeds=3,
        test_counts=tuple(int(counts[list(task)].sum()) for task in TASKS),
        train=train,
        test=test,
        networks=networks,
    )


def of_study(folder):
    """Run the study, and keep every network before and after each task that it learns."""
    networks = {}
    learned = {}
    data = {}
    learn = Learner.learn

    def watched(learner, task, *train):
        names = learned.get(learner, ())
        kind = learner.settings.kind
        seed = learner.seed
        # Before its first task, each run has a network of its own.
        state = names or ("before", task.name)
        networks[kind, seed, state] = copy.deepcopy(learner.model)
        cost = learn(learner, task, *train)
        learned[learner] = (*names, task.name) if kind != "offline" else NAMES
        networks[kind, seed, learned[learner]] = copy.deepcopy(learner.model)
        if kind == "offline":
            data.setdefault("tasks", task)
        return cost

    folder.mkdir(exist_ok=True)
    (folder / "noisy_network.py").write_text(NETWORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "learn", watched)
        Tiny(folder).ran(
            STUDY,
            seeds=2,
            load=(str(folder / "noisy_network.py"),),
        )
    halves = data["tasks"].train, data["tasks"].test
    train, test = ((half.x, half.y) for half in halves)
    return World(
        folder=folder / "run",
        learners=("finetune", "er"),
        readouts=("ncm", "retrain"),
        features=("first", "second"),
        seeds=2,
        test_counts=tuple(9 * len(task) for task in TASKS),
        train=train,
        test=test,
        networks=networks,
    )
