"""Continual training of split MNIST against avalanche-lib; needs MNIST in the folder PROBE_DATA."""

import io
import os
from contextlib import redirect_stdout
from functools import partial
from itertools import product

import torch
from torch import nn
from torchvision import datasets, transforms

from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Task
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.catalog import LEARNERS, settings_of
from scenarios.networks import build_network
from tests.bench.timing import interleaved

NETWORKS = ("mlp", "cnn3")
TASKS = 5
EACH = 5000
BATCH = 32
RATE = 0.001
STORED = 200  # images that are replayed


def avalanche(repeats):
    """Five tasks of 5,000 images, one epoch: as documented, at its fastest, and ours, seconds."""
    images = _images()
    x = torch.stack([image for image, _ in images])
    y = torch.tensor([label for _, label in images])
    titles = ("documented", "fastest", "ours", "x documented", "x fastest")
    yield "network", "stored", *titles
    for name, stored in product(NETWORKS, (0, STORED)):
        ways = {
            "documented": partial(_documented, name, images, stored),
            "fastest": partial(_fastest, name, x, y, stored),
            "ours": partial(_ours, name, x, y, stored),
        }
        with redirect_stdout(io.StringIO()):
            taken = interleaved(ways, repeats)
        seconds = (f"{each:.1f}" for each in taken.values())
        gains = (
            f"{taken[way] / taken['ours']:.1f}x" for way in ("documented", "fastest")
        )
        yield (name, str(stored), *seconds, *gains)


def _images():
    """Return the first images of each task's two digits, task after task."""
    scaled = transforms.Normalize((0.1307,), (0.3081,))
    chain = transforms.Compose([transforms.ToTensor(), scaled])
    whole = datasets.MNIST(os.environ["PROBE_DATA"], transform=chain)
    own = [(whole.targets // 2 == k).nonzero().squeeze(1)[:EACH] for k in range(TASKS)]
    found = torch.utils.data.Subset(whole, torch.cat(own).tolist())
    found.targets = whole.targets[torch.cat(own)]
    return found


def _network(name):
    model = build_network(name, (1, 28, 28), 2 * TASKS)
    initialize(model, "murata", stream(0))
    return model


def _documented(name, images, stored):
    from avalanche.benchmarks import nc_benchmark
    from avalanche.evaluation.metrics import accuracy_metrics, loss_metrics
    from avalanche.logging import InteractiveLogger
    from avalanche.training.plugins import EvaluationPlugin

    order = list(range(2 * TASKS))
    benchmark = nc_benchmark(
        images, images, TASKS, task_labels=False, fixed_class_order=order
    )
    metrics = (
        accuracy_metrics(minibatch=True, epoch=True),
        loss_metrics(minibatch=True, epoch=True),
    )
    shown = EvaluationPlugin(*metrics, loggers=[InteractiveLogger()])
    _naive(_network(name), benchmark, shown, stored)


def _fastest(name, x, y, stored):
    from avalanche.benchmarks import benchmark_from_datasets
    from avalanche.benchmarks.utils.classification_dataset import (
        _make_taskaware_tensor_classification_dataset as of_tensors,
    )
    from avalanche.training.plugins import EvaluationPlugin

    parts = zip(x.split(EACH), y.split(EACH), strict=True)
    benchmark = benchmark_from_datasets(
        train=[of_tensors(*part, task_labels=0) for part in parts]
    )
    model = _network(name).to(memory_format=torch.channels_last)
    _naive(model, benchmark, EvaluationPlugin(), stored, fused=True)


def _naive(model, benchmark, evaluator, stored, **adam):
    from avalanche.training import Naive
    from avalanche.training.plugins import ReplayPlugin

    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, **adam)
    how = {
        "criterion": nn.CrossEntropyLoss(),
        "train_mb_size": BATCH,
        "evaluator": evaluator,
        "plugins": [ReplayPlugin(stored)] if stored else [],
    }
    learner = Naive(model=model, optimizer=optimizer, **how)
    for experience in benchmark.train_stream:
        learner.train(experience)


def _ours(name, x, y, stored):
    recipe = Recipe(epochs=1, batch_size=BATCH, learning_rate=RATE, init="murata")
    settings = {"kind": "finetune"}
    if stored:
        settings = {"kind": "er", "memory_per_class": stored // (2 * TASKS)}
    learner = LEARNERS[settings["kind"]](
        _network(name), recipe, settings_of(settings), seed=0
    )
    for k, part in enumerate(zip(x.split(EACH), y.split(EACH), strict=True)):
        data = Examples(*part)
        classes = (2 * k, 2 * k + 1)
        learner.learn(
            Task(index=k + 1, name=str(k), classes=classes, train=data, test=data)
        )
