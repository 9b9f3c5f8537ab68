"""Networks drawn at random: layers, skips, views and writes in place in any order."""

import random
from functools import partial

import torch
from torch import nn

from tests.laws.zoo.net import SAFE, Net
from tests.laws.zoo.written import Written

_LAYERS = [
    partial(nn.Linear, 6, 6),
    partial(nn.Linear, 6, 6),
    partial(nn.BatchNorm1d, 6),
    partial(nn.LayerNorm, 6),
    nn.Dropout,
    partial(nn.ReLU, inplace=True),
]


def _write(v, w):
    v[:, 1:4] = w[:, 2:5].clone()
    return v


def _add_to_a_slice(v, w):
    v[:, ::2] += w[:, 1::2].clone()
    return v


_FUNCTIONS = [
    torch.add,
    torch.mul,
    lambda v, w: torch.tanh(v),
    lambda v, w: v + 0.1 * w.sin(),
    lambda v, w: v.add_(w),
    lambda v, w: v.mul_(0.5),
    lambda v, w: torch.relu_(v),
    lambda v, w: v.view(-1, 2, 3).flatten(1),
    lambda v, w: v.view(-1, 2, 3).transpose(1, 2).reshape(-1, 6),
    lambda v, w: v.detach(),
    lambda v, w: torch.where(v > w, v, w),
    lambda v, w: v.sort(1).values.clone(),
    _write,
    _add_to_a_slice,
    lambda v, w: torch.cat([v.chunk(2, 1)[1], w[:, :3]], 1),
]


def random_net(number):
    """Draw a network; None if autograd refuses it.

    Some write over what a gradient needs.
    """
    draw = random.Random(number)
    layers = {"head": (6, 3)}
    steps = [_step(draw, layers, at) for at in range(draw.randint(5, 14))]
    build = partial(Written, partial(_run, steps), layers)
    net = Net(
        build=build, inputs=lambda n: torch.randn(n, 6), features=_features(steps)
    )
    try:
        model, sample, _ = net.made()
        for training in (True, False):
            model.train(training)(sample.clone()).sum().backward()
    except RuntimeError:
        return None
    return net if net.features else None


def _step(draw, layers, at):
    """Draw what is done, and to which of the values so far; the input is the first."""
    v = draw.randint(max(0, at - 2), at)
    w = draw.randint(0, at)
    if at and draw.random() < 0.5:
        return "", draw.choice(_FUNCTIONS), v, w
    linear = [name for name, layer in layers.items() if layer is _LAYERS[0]]
    if linear and draw.random() < 0.2:
        return draw.choice(linear), None, v, w
    name = f"layer{at}"
    layers[name] = draw.choice(_LAYERS)
    return name, None, v, w


def _features(steps):
    called = [name for name, *_ in steps if name]
    calls = [f"{n}#{called[: at + 1].count(n)}" for at, n in enumerate(called)]
    return {
        name if called.count(name) == 1 else call: SAFE
        for name, call in zip(called, calls, strict=True)
    }


def _run(steps, m, x):
    values = [x]
    for name, function, v, w in steps:
        if name:
            values.append(getattr(m, name)(values[v]))
        else:
            values.append(function(values[v], values[w]))
    return m.head(values[-1] + values[len(values) // 2])
