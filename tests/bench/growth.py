"""Growth of an analysis's cost along each of its axes."""

import math
from functools import partial
from itertools import pairwise

import torch
from torch import nn

import probe
from probe.seeding import stream
from tests.bench.timing import interleaved

BASE = {
    "tasks": 3,
    "layers": 2,
    "examples": 1_000,
    "seeds": 1,
}
SIZES = {
    "tasks": (10, 20, 40),
    "layers": (10, 20, 40),
    "examples": (4_000, 16_000, 64_000),
    "seeds": (3, 5, 10),
}


def growth(repeats):
    """Seconds of `analyze` by tasks, layers, test examples and seeds; the last exponent."""
    yield "axis", "sizes", "seconds", "", "", "exponent"
    for axis, sizes in SIZES.items():
        analyses = {}
        for n in sizes:
            size = BASE | {axis: n}
            analyses[str(n)] = _analysis(**size)
        times = interleaved(analyses, repeats)
        _, middle, large = times.values()
        exponent = math.log(
            large / middle,
            sizes[2] / sizes[1],
        )
        seconds = (f"{each:.1f}" for each in times.values())
        yield axis, ", ".join(times), *seconds, f"{exponent:.2f}"


def _analysis(tasks, layers, examples, seeds):
    """Return a function that analyzes dense networks with drawn weights, two classes a task."""
    classes = torch.arange(2 * tasks)
    means = torch.randn(len(classes), 64, generator=stream(0, "means"))
    data = []
    for least in (400, examples):
        n = max(least, 10 * len(classes))
        y = classes.repeat(math.ceil(n / len(classes)))[:n]
        noise = torch.randn(n, 64, generator=stream(n, "noise"))
        data.append((means[y] + noise, y))
    torch.manual_seed(0)
    build = partial(_dense, layers, len(classes))
    models = {}
    for seed in range(seeds):
        models[seed] = {t: build() for t in range(tasks + 1)}
    return partial(
        probe.analyze,
        models if seeds > 1 else models[0],
        *data,
        tasks=classes.reshape(-1, 2).tolist(),
        features=[str(k) for k in range(layers)],
        readouts=["linear"],
    )


def _dense(layers, classes):
    """Return a network of dense layers of 32 units."""
    hidden = []
    for widths in pairwise([64, *[32] * layers]):
        layer = nn.Sequential(nn.Linear(*widths), nn.ReLU())
        hidden.append(layer)
    return nn.Sequential(*hidden, nn.Linear(32, classes))
