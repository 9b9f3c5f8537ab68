"""Partial retraining as a good engineer writes it in an afternoon: the other yardstick for speed.

Values of the frozen stages computed once, in large batches, and kept channels-last;
tails of their own, channels-last; fused Adam; bf16 by autocast where it is asked for.
Random streams are those of `obvious`.
"""

import copy

import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from tests.bench.obvious import accuracy
from tests.laws.reference import fresh

_SIZE = 500


def sweep(model, features, train, test, recipe):
    """Return each feature's accuracy on `test` after the layers downstream were retrained."""
    names = [name for name, _ in model.named_children()]
    cuts = {feature: names.index(feature) + 1 for feature in features}
    kept = [_values(model.eval(), x, max(cuts.values())) for x in (train.x, test.x)]
    found = {}
    for feature, cut in cuts.items():
        own = copy.deepcopy(model)
        fresh(own, stream(0, "tail", feature), names[:cut])
        tail = own[cut:].to(memory_format=torch.channels_last)
        _train(tail, kept[0][cut - 1], train.y, recipe, feature)
        found[feature] = accuracy(tail, Examples(kept[1][cut - 1], test.y))
    return found


@torch.no_grad()
def _values(model, x, last):
    """Return the outputs of the first stages for all images, each (N, ...)."""
    parts = [[] for _ in range(last)]
    for batch in x.split(_SIZE):
        value = batch.to(memory_format=torch.channels_last)
        for stage, part in zip(model, parts, strict=False):
            value = stage(value)
            part.append(value)
    return [torch.cat(part) for part in parts]


def _train(tail, x, y, recipe, feature):
    optimizer = torch.optim.Adam(tail.parameters(), lr=recipe.learning_rate, fused=True)
    low = recipe.precision == "bf16"
    draw = stream(0, "retrain", feature)
    torch.randint(2**62, (), generator=draw)  # as in `obvious`
    tail.train()
    for _ in range(recipe.epochs):
        for chosen in torch.randperm(len(x), generator=draw).split(recipe.batch_size):
            batch = x[chosen]
            if batch.ndim == 4:
                batch = batch.to(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                loss = nn.functional.cross_entropy(tail(batch), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
