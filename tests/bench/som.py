"""GeppNet's examples per second against a loop over units and against numpy, step after step.

The map has 23 x 23 units, the made-up images MNIST's size and as many
classes; all three ways start from the same trained network and see the same images.
"""

from functools import partial

import torch

from probe.examples import Examples
from probe.modules import copied
from probe.seeding import stream
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import initialize
from probe.training.recipe import Recipe
from scenarios.learners.kemker.geppnet import Geppnet, MapSettings
from scenarios.learners.kemker.som import longest_block
from tests.bench.timing import interleaved
from tests.laws.plain_map import ByUnit, Whole

SETTINGS = MapSettings()
RATE, RADIUS = SETTINGS.final_som_rate, SETTINGS.final_radius
READOUT = 1e-9  # so small that as many examples are novel at the end as at the start
COUNTS = {"ours": 2048, "numpy": 256, "loop over units": 16}
PHASES = {
    "base, map alone": None,
    "base, both layers": None,
    "later": SETTINGS.threshold,
}


def phases(repeats):
    """Examples per second of GeppNet, and times as fast as the others."""
    yield ("phase", "novel", *COUNTS, "x numpy", "x loop")
    model = _trained()
    # As many as were novel in sessions of MNIST's classes: 8,200 to 11,400 of 20,000
    # iterations.
    data = _images(max(COUNTS.values()), 1, wrong=0.5)
    some = {way: data.take(torch.arange(count)) for way, count in COUNTS.items()}
    for phase in PHASES:
        actions = {
            "ours": partial(_ours, phase, model, some["ours"]),
            "numpy": partial(_plain, Whole, phase, model, some["numpy"]),
            "loop over units": partial(
                _plain, ByUnit, phase, model, some["loop over units"]
            ),
        }
        taken = interleaved(actions, repeats)
        speed = {way: COUNTS[way] / seconds for way, seconds in taken.items()}
        ratios = (
            f"{speed['ours'] / speed[way]:.0f}" for way in ("numpy", "loop over units")
        )
        speeds = (f"{speed[way]:,.0f}" for way in COUNTS)
        yield (phase, f"{_ours(phase, model, data) / len(data):.0%}", *speeds, *ratios)


def _ours(phase, model, data):
    """Run a phase on a copy of the model and return how many examples were learned."""
    network = _learner(copied(model), READOUT)
    shares = network.som.shares(RATE, RADIUS)
    learned = 0
    block = longest_block(RATE)
    for x, y in zip(data.x.split(block), data.y.split(block), strict=True):
        if phase == "base, map alone":
            network.organize(x, [RATE] * len(x), [RADIUS] * len(x))
            learned += len(x)
        else:
            learned += network.learn_online(x, y, shares, PHASES[phase])
    return learned


def _plain(way, phase, model, data):
    plain = way(model, READOUT)
    for x, label in zip(data.x.numpy(), data.y.tolist(), strict=True):
        if phase == "base, map alone":
            plain.organize(x, RATE, RADIUS)
        else:
            plain.learn(x, label, RATE, RADIUS, PHASES[phase])


def _trained():
    """Return a network that is sure of the examples with a right label."""
    model = Geppnet.network(SETTINGS, (784,), 10, 2)
    initialize(model, "murata", stream(0, "init"))
    data = _images(4096, 0)
    network = _learner(model, 2e-3)
    for radius in (3.0, 1.0, RADIUS):
        for x, y in zip(data.x.split(64), data.y.split(64), strict=True):
            network.learn_online(x, y, network.som.shares(0.1, radius))
    return model


def _learner(model, readout_rate):
    """Return a learner of the model that is ready for blocks of examples."""
    own = Geppnet(model, Recipe(), MapSettings(readout_rate=readout_rate), 0)
    own.meter = OpsMeter()
    own.lattice = own.som.lattice()
    return own


def _images(count, seed, wrong=0.0):
    """Return noisy images of ten patterns; a share has another pattern's label, and is novel."""
    y = torch.randint(10, (count,), generator=stream(seed, "y"))
    patterns = torch.rand(10, 784, generator=stream(0, "patterns"))
    noise = torch.rand(count, 784, generator=stream(seed, "noise"))
    other = torch.rand(count, generator=stream(seed, "wrong")) < wrong
    return Examples(
        0.4 * patterns[y] + 0.6 * noise, torch.where(other, (y + 1) % 10, y)
    )
