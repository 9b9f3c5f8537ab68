"""Avalanche's side: its own strategy and plugins, on the same stream."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from avalanche.benchmarks import nc_benchmark, tensors_benchmark
from avalanche.training.supervised import Naive
from torch import nn
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

from probe.seeding import global_stream, stream

USUAL = "avalanche"
FASTEST = "avalanche, fastest"
OUR_BATCHES = "avalanche, our batches"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How avalanche is used.

    experiences: what gives it the examples; fused: whether Adam is; shuffle: in every
        epoch.
    """

    experiences: Sequence[Any]
    fused: bool
    shuffle: bool = True


def usages(folder, scenario, limit):
    """Return the two usages, by name, on the tasks of a scenario of MNIST.

    The usual one is that of its documentation: torchvision's images with a transform to
    tensors, and Adam as torch gives it. The fastest that it can do by itself takes
    tensors in memory without a transform, and the fused Adam, as we do. Neither has
    worker processes, loggers or evaluation. Raises ValueError if their examples are not
    the scenario's.
    """
    found = {
        USUAL: Usage(experiences=_of_images(folder, scenario, limit), fused=False),
        FASTEST: Usage(experiences=_of_tensors(scenario), fused=True),
    }
    for name, usage in found.items():
        _check(name, usage.experiences, scenario)
    return found


def same_batches(scenario, seed):
    """Return the usage with which it takes our batches one by one, in the only epoch of a task."""
    tasks = []
    for position, task in enumerate(scenario.tasks):
        draw = stream(seed, "batches", position)
        torch.randint(2**62, (), generator=draw)  # our loop seeds dropout with it
        order = torch.randperm(len(task.train), generator=draw)
        tasks.append(replace(task, train=task.train.take(order)))
    experiences = _of_tensors(replace(scenario, tasks=tuple(tasks)))
    return Usage(experiences=experiences, fused=True, shuffle=False)


class Avalanche:
    """`Naive` with plugins: plain training on each experience, and what the plugins add.

    The optimizer's state starts anew with each experience, as ours does.
    """

    def __init__(self, model, recipe, plugins, usage, seed):
        adam = torch.optim.Adam(
            model.parameters(),
            lr=recipe.learning_rate,
            fused=True if usage.fused else None,
        )
        self.model = model
        self._strategy = Naive(
            model=model,
            optimizer=adam,
            criterion=nn.CrossEntropyLoss(),
            train_mb_size=recipe.batch_size,
            train_epochs=recipe.epochs,
            plugins=list(plugins),
            evaluator=None,
        )
        self._usage = usage
        self._seed = seed

    @property
    def steps(self):
        """The number of steps taken so far."""
        return int(self._strategy.clock.train_iterations)

    def learn(self, position):
        # It draws from torch's global generator.
        with global_stream(stream(self._seed, "avalanche", position)):
            self._strategy.train(
                self._usage.experiences[position],
                shuffle=self._usage.shuffle,
                reset_optimizer_state=True,
            )


def _of_tensors(scenario):
    halves = ([[t.train.x, t.train.y], [t.test.x, t.test.y]] for t in scenario.tasks)
    train, test = zip(*halves, strict=True)
    return list(
        tensors_benchmark(train, test, task_labels=[0] * len(train)).train_stream
    )


def _of_images(folder, scenario, limit):
    train, test = (MNIST(str(folder), train=half) for half in (True, False))
    if limit is not None:
        kept = torch.cat(
            [(train.targets == c).nonzero().squeeze(1)[:limit] for c in range(10)]
        )
        train.data, train.targets = (
            t[kept.sort().values] for t in (train.data, train.targets)
        )
    benchmark = nc_benchmark(
        train,
        test,
        n_experiences=len(scenario.tasks),
        task_labels=False,
        fixed_class_order=list(chain(*(task.classes for task in scenario.tasks))),
        train_transform=ToTensor(),
        eval_transform=ToTensor(),
    )
    return list(benchmark.train_stream)


def _check(name, experiences, scenario):
    """Raise ValueError unless each task has as many labels of each class, and as bright images.

    The order of the examples may differ: every epoch is shuffled.
    """
    for experience, task in zip(experiences, scenario.tasks, strict=True):
        x = torch.stack([image for image, *_ in experience.dataset])
        y = torch.tensor(list(experience.dataset.targets))
        same = torch.equal(y.bincount(), task.train.y.bincount())
        if not same or not torch.allclose(x.mean(0), task.train.x.mean(0), atol=1e-4):
            raise ValueError(f"{name} has other examples in task {task.name}")
