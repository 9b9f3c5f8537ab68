"""The speed of a sweep against two others and the machine's limit: its cost once, and per epoch.

The networks are measured on noise of the right size: only the time counts.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import torch

from probe.cut.cuts import cut_each
from probe.examples import Examples
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import stream
from probe.training.costs import one_pass_ops
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from probe.values.allocation import CacheSettings
from probe.values.cache import plan_values, store_values
from scenarios.networks import build_network
from tests.bench import afternoon, obvious
from tests.bench.timing import interleaved

BATCH, CLASSES = 64, 10
EXAMPLES, EPOCHS = 60_000, 5
EVALUATED = 6  # training examples per test example, as in MNIST
PLAIN = {
    "obvious": obvious.sweep,
    "afternoon": afternoon.sweep,
    "afternoon bf16": afternoon.sweep,
}
WAYS = (*PLAIN, "fp32", "bf16")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A network and the size of its images; n: examples that a timed run trains on."""

    network: str
    shape: tuple[int, int, int]
    n: int

    def model(self):
        """Return the network with fresh weights and statistics of real batches."""
        model = build_network(self.network, self.shape, CLASSES)
        initialize(model, "murata", stream(0))
        with torch.no_grad():
            model(self.images(4 * BATCH).x)
        return model

    def images(self, n):
        """Return n images of noise with random labels."""
        draw = stream(0, "images")
        x = torch.rand(n, *self.shape, generator=draw)
        return Examples(x, torch.randint(CLASSES, (n,), generator=draw))


SUBJECTS = (
    Subject(network="cnn3", shape=(1, 8, 8), n=24 * BATCH),
    Subject(network="cnn3", shape=(1, 28, 28), n=24 * BATCH),
    Subject(network="reduced_resnet18", shape=(3, 32, 32), n=4 * BATCH),
)


class Cost(NamedTuple):
    """Seconds of a sweep: fixed + example * n + step * n * epochs, for n training examples.

    fixed: copying and cutting; example: steps done once (filling the caches,
    evaluating); step: one example in one epoch, over all features.
    """

    fixed: float
    example: float
    step: float

    @property
    def total(self):
        """Seconds of the whole sweep."""
        return self.fixed + self.example * EXAMPLES + self.step * EXAMPLES * EPOCHS


def sweeps(repeats):
    """Seconds at 60,000 examples and 5 epochs; times as fast as obvious, and as an afternoon's."""
    yield (
        "network, feature, way",
        "all-in x",
        "x afternoon",
        "epoch x",
        "all-in",
        "epoch",
        "limit",
    )
    rate = _rate()
    for subject in SUBJECTS:
        for title, features in _sweeps(subject):
            found = _sweep_costs(subject, features, repeats)
            work = _work(subject, features) * EXAMPLES * EPOCHS
            for way, cost in found.items():
                good = found["afternoon bf16" if "bf16" in way else "afternoon"]
                yield (
                    f"{subject.network} {subject.shape[-1]}, {title}, {way}",
                    f"{found['obvious'].total / cost.total:.2f}x",
                    f"{good.total / cost.total:.2f}x",
                    f"{found['obvious'].step / cost.step:.2f}x",
                    f"{cost.total:.1f}",
                    f"{cost.step * EXAMPLES:.2f}",
                    f"{work / rate / cost.total:.0%}",
                )


def _rate():
    """Return the multiply-adds per second of one large fp32 matrix product."""
    side = 1024
    a = torch.rand(side, side)
    return side**3 / interleaved({"": partial(torch.mm, a, a)}, 9)[""]


def _work(subject, features):
    """Return the multiply-adds of training all tails on one example."""
    model = subject.model()
    data = subject.images(BATCH)
    total = 0
    for feature in features:
        cut = obvious.stages(model).index(feature) + 1
        with torch.no_grad():
            values = model[:cut](data.x)
        total += one_pass_ops(model[cut:], Examples(values, data.y), BATCH)
    return total / BATCH


def _sweeps(subject):
    """Return the features of each sweep: all, and the last alone."""
    stages = obvious.stages(subject.model())
    return [("all features", stages), (stages[-1], stages[-1:])]


def _sweep_costs(subject, features, repeats):
    """Return the costs of a sweep over `features`, of others and of the product, by way."""
    model = subject.model()
    data = subject.images(2 * subject.n)

    def run(way, n, epochs):
        precision = "bf16" if "bf16" in way else "fp32"
        recipe = Recipe(
            epochs=epochs, batch_size=BATCH, init="murata", precision=precision
        )
        train, test = (Examples(data.x[:k], data.y[:k]) for k in (n, n // EVALUATED))
        PLAIN.get(way, _sweep)(model, features, train, test, recipe)

    # A step downstream of the last feature alone is so short that it takes many to be
    # seen.
    many = 2 if len(features) > 1 else 150
    more = {way: 2 if way == "obvious" else many for way in WAYS}
    return _costs({way: partial(run, way) for way in WAYS}, subject.n, more, repeats)


def _sweep(model, features, train, test, recipe):
    """Return each feature's accuracy on `test`, as `obvious.sweep` does, by the product."""
    each = retrain_each(
        model, features, train, test, CLASSES, RetrainSettings(recipe=recipe)
    )
    return {
        one.feature: float((one.predicted == test.y).float().mean()) for one in each
    }


def _costs(runs, n, more, repeats):
    """Time each run (n, epochs) at three sizes, from which its three costs follow.

    more: the additional epochs of the longer run of each.
    """
    sizes = {way: ((n, 1), (n, 1 + more[way]), (2 * n, 1)) for way in runs}
    actions = {}
    for k, way in product(range(3), runs):
        actions[way, k] = partial(runs[way], *sizes[way][k])
    times = interleaved(actions, repeats)
    solved = {}
    for way in runs:
        base, longer, larger = (times[way, k] for k in range(3))
        step = (longer - base) / more[way] / n
        example = max(0.0, (larger - base) / n - step)
        solved[way] = Cost(max(0.0, base - n * (step + example)), example, step)
    return solved


def filling(repeats):
    """Filling the caches, as a multiple of the bare forward pass in the faster layout."""
    yield "network, features", "bare, ms", "filling, ms", "multiple"
    for subject in SUBJECTS:
        for title, features in _sweeps(subject):
            fill, bare = _filling(subject, features, repeats)
            cells = (f"{1000 * bare:.3f}", f"{1000 * fill:.3f}", f"{fill / bare:.2f}x")
            yield (f"{subject.network}, {title}", *cells)


def _filling(subject, features, repeats):
    """Return seconds for one example, from runs of n and of 3n: steps done once drop out."""
    n = subject.n
    model = subject.model().eval()
    x = subject.images(3 * n).x
    last = x.contiguous(memory_format=torch.channels_last)
    cuts = cut_each(model, features, x[:SAMPLE]).each
    settings = CacheSettings().settled(torch.device("cpu"))
    plan = plan_values(cuts, (3 * n, 0), settings)
    actions = {}
    for size in (n, 3 * n):
        actions |= {
            f"fill {size}": partial(
                store_values, cuts, plan, x[:size], settings, BATCH
            ),
            f"plain {size}": partial(forward, model, x[:size]),
            f"last {size}": partial(forward, model, last[:size]),
        }
    times = interleaved(actions, repeats)
    fill, plain, channels_last = (
        (times[f"{way} {3 * n}"] - times[f"{way} {n}"]) / (2 * n)
        for way in ("fill", "plain", "last")
    )
    return fill, min(plain, channels_last)


@torch.no_grad()
def forward(model, x):
    """Run a model on batches."""
    for batch in x.split(BATCH):
        model(batch)
