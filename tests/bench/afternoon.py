"""An analysis as a good engineer writes it in an afternoon: the yardstick for speed.

For a chain of layers: the values of all layers in one pass a network and channels-last,
torch's L-BFGS and fused Adam, and every set of layers put back by a recursion over the
layers. It has no intervals, and no checks of what it receives.
"""

import copy
import math
from collections import Counter

import torch
from torch import nn
from torch.nn import functional

SIZE = 500  # images of a batch
WIDTH = 512  # values of a layer that a readout receives, as in the product
# The worst of 33 fits to layers of `analysis.SUBJECTS` then is 0.0015 of the minimum above it,
# and the median 0.0001; of the product's, 0.0029 and 0.0004.
TOLERANCE = 2e-6


def readouts(networks, train, test, tasks):
    """Return the accuracy on each task of a readout of each layer of each network."""
    table = []
    for network in networks:
        *hidden, output = _values(network, torch.cat([train.x, test.x]))
        predicted = [_logistic(_pooled(values), train.y) for values in hidden]
        predicted.append(output[len(train) :].argmax(1))
        correct = torch.stack(predicted) == test.y
        masks = [torch.isin(test.y, torch.tensor(classes)) for classes in tasks]
        table.append([correct[:, mask].float().mean(1).tolist() for mask in masks])
    return torch.tensor(table)


@torch.no_grad()
def _values(model, x, last=None):
    """Return the outputs of the first layers for all images, each (N, ...)."""
    parts = [[] for _ in model[:last]]
    for batch in x.split(SIZE):
        value = _channels_last(batch)
        for layer, part in zip(model, parts, strict=False):
            value = layer(value)
            part.append(value)
    return [torch.cat(part) for part in parts]


def _channels_last(batch):
    if batch.ndim < 4:
        return batch
    return batch.to(memory_format=torch.channels_last)


def _pooled(values):
    """Return at most `WIDTH` values of each example: means over places or tokens."""
    if values.ndim == 3:
        return values.mean(1)
    if values.ndim == 4:
        grid = min(values.shape[-1], math.isqrt(WIDTH // values.shape[1]))
        values = functional.adaptive_avg_pool2d(values, grid)
    return values.flatten(1)


def _logistic(values, y):
    """Fit logistic regression to the first of the values; return its predictions of the rest."""
    train, test = values[: len(y)], values[len(y) :]
    mean, scale = train.mean(0), train.std(0) + 1e-6
    train, test = (train - mean) / scale, (test - mean) / scale
    layer = nn.Linear(train.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.LBFGS(
        layer.parameters(),
        max_iter=200,
        tolerance_change=TOLERANCE,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        penalty = layer.weight.square().sum() / (2 * len(y))
        loss = functional.cross_entropy(layer(train), y) + penalty
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        return layer(test).argmax(1)


@torch.no_grad()
def causes(before, after, test):
    """Return the accuracy that putting back each layer returns, a mean over all orders."""
    x, y = test
    correct = Counter()
    for images, labels in zip(x.split(SIZE), y.split(SIZE), strict=True):
        for chosen, output in _outputs(before, after, _channels_last(images)):
            correct[chosen] += int((output.argmax(1) == labels).sum())
    count = len(after)
    shares = [0.0] * count
    for chosen, number in correct.items():
        accuracy = number / len(y)
        size = len(chosen)
        for layer in range(count):
            if layer in chosen:
                shares[layer] += accuracy / (size * math.comb(count, size))
            else:
                rest = (count - size) * math.comb(count, size)
                shares[layer] -= accuracy / rest
    return shares


def _outputs(before, after, value, layer=0, chosen=()):
    """Yield every set of layers that are put back, with the output; beginnings are shared."""
    if layer == len(after):
        yield chosen, value
        return
    put_back = (*chosen, layer)
    yield from _outputs(before, after, before[layer](value), layer + 1, put_back)
    yield from _outputs(before, after, after[layer](value), layer + 1, chosen)


@torch.no_grad()
def _accuracy(model, x, y):
    predicted = [model(_channels_last(batch)).argmax(1) for batch in x.split(SIZE)]
    correct = torch.cat(predicted) == y
    return float(correct.float().mean())


def retraining(model, train, test, recipe):
    """Return the accuracy on `test` after all that is downstream of each layer was retrained."""
    accuracies = []
    values = [_values(model, data.x, -1) for data in (train, test)]
    for cut, (trained_on, tested_on) in enumerate(zip(*values, strict=True), 1):
        tail = copy.deepcopy(model[cut:]).to(memory_format=torch.channels_last)
        for module in tail.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        _train(tail.train(), trained_on, train.y, recipe)
        accuracies.append(_accuracy(tail.eval(), tested_on, test.y))
    return accuracies


def _train(tail, x, y, recipe):
    optimizer = torch.optim.Adam(tail.parameters(), recipe.learning_rate, fused=True)
    for _ in range(recipe.epochs):
        for batch in torch.randperm(len(x)).split(recipe.batch_size):
            logits = tail(_channels_last(x[batch]))
            optimizer.zero_grad()
            loss = functional.cross_entropy(logits, y[batch])
            loss.backward()
            optimizer.step()
