"""PRA of the product and of the obvious implementation on MNIST, over seeds."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from torch import nn

from probe.seeding import stream
from probe.tasks import Scenario
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe, fit
from scenarios.data.datasets import Location, limited, load
from scenarios.networks import build_network
from scenarios.streams.split import split_by_class
from tests.bench import obvious, product
from tests.bench.section import Row, Section


def scores(data: Path, seeds: int, per_class: int, epochs: int) -> Section:
    """Compare PRA on MNIST: of each seed, and the mean over seeds with its standard error."""
    return Section(
        title=f"PRA on MNIST in points, {per_class} examples per class, {epochs} epochs",
        columns=("", "obvious", "fp32 - obvious", "bf16 - obvious"),
        rows=_scores(
            split_by_class(limited(load("mnist", Location(data)), per_class)), seeds, epochs
        ),
    )


def _scores(scenario: Scenario, seeds: int, epochs: int) -> Iterator[Row]:
    found = []
    for seed in range(seeds):
        ways = np.array(_pra(scenario, seed, epochs))
        found.append(ways)
        base, *others = ways.mean(1)
        cells = (f"{100 * base:.2f}", *(f"{100 * (other - base):+.3f}" for other in others))
        yield (f"seed {seed}", *cells), ways.tolist()
    rows = np.array(found)
    for k, stage in enumerate(obvious.stages(build_network("cnn3", (1, 28, 28), 10))):
        base, differences = rows[:, 0, k].mean(), 100 * (rows[:, 1:, k].T - rows[:, 0, k])
        yield (stage, f"{100 * base:.2f}", *map(_paired, differences)), None


def _pra(scenario: Scenario, seed: int, epochs: int) -> list[list[float]]:
    """Return the PRA of every stage of one continually trained model, for each way."""
    model = _fine_tuned(scenario, seed, epochs)
    train, test, stages = scenario.merged.train, scenario.merged.test, obvious.stages(model)
    exact, rounded = (Recipe(epochs=epochs, init="murata", precision=p) for p in ("fp32", "bf16"))
    found = [
        obvious.sweep(model, stages, train, test, exact, seed),
        product.sweep(model, stages, train, test, exact, seed),
        product.sweep(model, stages, train, test, rounded, seed),
    ]
    return [list(pra.values()) for pra in found]


def _fine_tuned(scenario: Scenario, seed: int, epochs: int) -> nn.Sequential:
    model = build_network("cnn3", (1, 28, 28), 10)
    initialize(model, "murata", stream(seed))
    for k, task in enumerate(scenario.tasks):
        fit(model, task.train, Recipe(epochs=epochs, init="murata"), stream(seed, "task", k))
    return model


def _paired(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} +- {error:.3f}"
