"""The product's analysis of three networks, beside what a good engineer writes in an afternoon."""

import math
from collections import OrderedDict
from copy import deepcopy
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torchvision import models

import probe
from probe.by_layer.probing import Measure
from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import Recipe
from scenarios.networks import build_network
from tests.bench import afternoon
from tests.bench.timing import interleaved

CLASSES = 6
TASKS = ((0, 1), (2, 3), (4, 5))
RECIPE = Recipe(epochs=5, batch_size=32)
DISTANCE = 4.0  # of a class's mean image from 0, in standard deviations of the noise


def resnet():
    """Return torchvision's ResNet18 as a chain of six layers."""
    model = models.resnet18(num_classes=CLASSES)
    stem = nn.Sequential(model.conv1, model.bn1, model.relu, model.maxpool)
    output = nn.Sequential(model.avgpool, nn.Flatten(), model.fc)
    hidden = {f"layer{n}": model.get_submodule(f"layer{n}") for n in range(1, 5)}
    return nn.Sequential(OrderedDict(stem=stem, **hidden, output=output))


def transformer():
    """Return a vision transformer of six layers for 64 x 64 pixels as a chain."""
    model = models.VisionTransformer(64, 8, 6, 3, 192, 768, num_classes=CLASSES)
    patches = nn.Sequential(model.conv_proj, nn.Flatten(2), Tokens())
    output = nn.Sequential(model.encoder.ln, Mean(), nn.Linear(192, CLASSES))
    hidden = {f"layer{n}": layer for n, layer in enumerate(model.encoder.layers, 1)}
    return nn.Sequential(OrderedDict(patches=patches, **hidden, output=output))


class Tokens(nn.Module):
    """Channels last: (B, D, N) to (B, N, D)."""

    def forward(self, x):
        return x.transpose(1, 2).contiguous()


class Mean(nn.Module):
    """The mean of the tokens."""

    def forward(self, x):
        return x.mean(1)


def small(name, pixels):
    """Return a function that builds one of the product's networks."""
    return partial(build_network, name, (1, pixels, pixels), CLASSES)


SUBJECTS = {
    "mlp400, 28 pixels": (small("mlp400", 28), (1, 28, 28), 6000, 2000),
    "cnn3, 8 pixels": (small("cnn3", 8), (1, 8, 8), 4000, 1500),
    "cnn3, 28 pixels": (small("cnn3", 28), (1, 28, 28), 1000, 500),
    "ResNet18, 32 pixels": (resnet, (3, 32, 32), 300, 200),
    "ResNet18, 64 pixels": (resnet, (3, 64, 64), 100, 60),
    "ViT, 64 pixels": (transformer, (3, 64, 64), 60, 60),
}
"""Networks, the shape of images, training and test examples."""


def analyses(repeats):
    """Seconds of ours and the afternoon's, and their ratio."""
    yield "network", "linear", "causes", "retraining"
    for title, subject in SUBJECTS.items():
        actions = _actions(*subject)
        cells = []
        for ours, plain in actions:
            times = interleaved({"ours": ours, "plain": plain}, repeats)
            ratio = times["ours"] / times["plain"]
            seconds = " / ".join(f"{taken:.2f}" for taken in times.values())
            cells.append(f"{seconds} = {ratio:.2f}")
        yield title, *cells


def _actions(build, shape, training, testing):
    """Return pairs of ours and the afternoon's: readouts, causes, retraining."""
    train = _images(shape, training)
    test = _images(shape, testing)
    networks, joint = _networks(build, train)
    last = networks[len(TASKS)]
    trained = {t: network for t, network in networks.items() if t}
    features = [name for name, _ in last.named_children()][:-1]
    by_task = []
    for classes in TASKS:
        mask = torch.isin(test.y, torch.tensor(classes))
        by_task.append((test.x[mask], test.y[mask]))

    def readouts():
        afternoon.readouts([*networks.values(), joint], train, test, TASKS)

    def causes():
        for t in range(1, len(TASKS)):
            afternoon.causes(networks[t], last, by_task[t - 1])

    analyze = partial(
        probe.analyze,
        networks,
        train,
        test,
        TASKS,
        features,
        offline=joint,
        readouts=Measure(readouts=["linear"], hybrids=0, inherited=False),
    )
    ours = [
        analyze,
        partial(probe.causes, trained, by_task, features=features),
        partial(probe.partial_retrain, last, features, train, test, TASKS, RECIPE),
    ]
    retraining = partial(afternoon.retraining, last, train, test, RECIPE)
    return zip(ours, [readouts, causes, retraining], strict=True)


def _images(shape, n):
    """Return n images of noise on a blurred image of their class; the classes overlap."""
    small_means = torch.randn(CLASSES, shape[0], 4, 4, generator=stream(0, "means"))
    means = functional.interpolate(small_means, shape[1:], mode="bilinear")
    means *= DISTANCE / math.sqrt(math.prod(shape))
    y = torch.arange(n) % CLASSES
    noise = torch.randn(n, *shape, generator=stream(n, "noise"))
    return Examples(means[y] + noise, y)


def _networks(build, data):
    """Return networks after 0 to 3 tasks, and one that learned all at once: ten steps each."""
    torch.manual_seed(0)
    networks = {0: build().eval()}
    for t, classes in enumerate(TASKS, 1):
        networks[t] = _trained(networks[t - 1], data, classes)
    return networks, _trained(networks[0], data, range(CLASSES))


def _trained(network, data, classes):
    network = deepcopy(network).train()
    optimizer = torch.optim.Adam(network.parameters())
    chosen = torch.isin(data.y, torch.tensor(list(classes))).nonzero()[:, 0]
    for batch in chosen.repeat(10)[:320].split(32):
        optimizer.zero_grad()
        logits = network(data.x[batch])
        loss = functional.cross_entropy(logits, data.y[batch])
        loss.backward()
        optimizer.step()
    return network.eval()
