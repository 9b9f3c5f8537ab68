"""Partial retraining as one would write it first: right, plain, and the yardstick for speed.

A deep copy per feature, the frozen stages in eval mode under `no_grad` and run at every
step, the data in memory as tensors, torch's own Adam, fp32, images channel by channel.
It shares with the product its random streams, so that both see the same fresh weights
and the same batches.
"""

import copy

import torch
from torch import nn

from probe.seeding import stream
from tests.laws.reference import fresh


def sweep(model, features, train, test, recipe):
    """Return each feature's accuracy on `test` after the layers downstream were retrained."""
    return {f: accuracy(_retrained(model, f, train, recipe), test) for f in features}


def _retrained(model, feature, data, recipe):
    """Return the model M_i, retrained downstream of a stage of a chain of stages."""
    own = copy.deepcopy(model)
    names = [name for name, _ in own.named_children()]
    cut = names.index(feature) + 1
    fresh(own, stream(0, "tail", feature), names[:cut])
    prefix = own[:cut].eval()
    tail = own[cut:].train()
    optimizer = torch.optim.Adam(tail.parameters(), lr=recipe.learning_rate)
    draw = stream(0, "retrain", feature)
    torch.randint(2**62, (), generator=draw)  # the product seeds dropout with it
    for _ in range(recipe.epochs):
        for chosen in torch.randperm(len(data), generator=draw).split(
            recipe.batch_size
        ):
            with torch.no_grad():
                value = prefix(data.x[chosen])
            loss = nn.functional.cross_entropy(tail(value), data.y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return own


@torch.no_grad()
def accuracy(model, test):
    """Return the share of right answers, in batches of 500."""
    parts = zip(test.x.split(500), test.y.split(500), strict=True)
    return sum(int((model.eval()(x).argmax(1) == y).sum()) for x, y in parts) / len(
        test
    )


def stages(model):
    """Return the stages that have something downstream to retrain: all but the last."""
    return [name for name, _ in model.named_children()][:-1]
