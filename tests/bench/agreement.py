"""Whether the product gives what the obvious implementation gives: losses, then PRA over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from rich.table import Table
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe, fit
from scenarios.data.datasets import Location, limited, load
from scenarios.networks import build_network
from scenarios.streams.split import split_by_class
from scenarios.streams.task import Scenario
from tests.bench import obvious, product
from tests.bench.subjects import BATCH, Subject

STEPS = 10


def losses(subjects: Sequence[Subject]) -> tuple[Table, dict[str, object]]:
    """Compare the losses of the first ten steps, in fp32 and in float64."""
    table = Table("network", "feature", "fp32", "float64", "obvious fp32 - float64")
    table.title = "Largest difference among the first ten losses, product - obvious"
    raw: dict[str, object] = {}
    for subject in subjects:
        for feature in obvious.stages(subject.model()):
            single, theirs = _losses(subject, feature, torch.float32)
            double, exact = _losses(subject, feature, torch.float64)
            gaps = [single - theirs, double - exact, theirs - exact]
            raw[f"{subject.network} {feature}"] = found = [float(g.abs().max()) for g in gaps]
            table.add_row(subject.network, feature, *(f"{gap:.0e}" for gap in found))
    return table, raw


def scores(data: Path, seeds: int, per_class: int, epochs: int) -> tuple[Table, dict[str, object]]:
    """Compare PRA on MNIST over seeds: the mean of the paired differences, and its error."""
    scenario = split_by_class(limited(load("mnist", Location(data)), per_class))
    rows = np.array([_pra(scenario, seed, epochs) for seed in range(seeds)])
    stages = obvious.stages(build_network("cnn3", (1, 28, 28), 10))
    table = Table("feature", "obvious", "fp32 - obvious", "bf16 - obvious")
    table.title = (
        f"PRA on MNIST in points, mean over {seeds} seeds +- standard error; "
        f"{per_class} examples per class, {epochs} epochs"
    )
    for name, part in [*zip(stages, np.moveaxis(rows, 2, 0), strict=True), ("mean", rows.mean(2))]:
        table.add_row(name, f"{100 * part[:, 0].mean():.2f}", *map(_paired, _differences(part)))
    return table, {"seed x way (obvious, fp32, bf16) x feature": rows.tolist()}


def _losses(subject: Subject, feature: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    model, data = subject.model().to(dtype), subject.images(STEPS * BATCH)
    data = Examples(data.x.to(dtype), data.y)
    recipe = Recipe(epochs=1, batch_size=BATCH)
    ours = product.losses(model, feature, data, recipe, 0)
    theirs = obvious.retrained(model, feature, data, recipe, 0)[1]
    return torch.tensor(ours, dtype=torch.float64), torch.tensor(theirs, dtype=torch.float64)


def _pra(scenario: Scenario, seed: int, epochs: int) -> list[list[float]]:
    """Return the PRA of every stage of one continually trained model, for each way."""
    model = _fine_tuned(scenario, seed, epochs)
    train, test, stages = scenario.merged.train, scenario.merged.test, obvious.stages(model)
    exact, rounded = (Recipe(epochs=epochs, precision=p) for p in ("fp32", "bf16"))
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
        fit(model, task.train, Recipe(epochs=epochs), stream(seed, "task", k))
    return model


def _differences(ways: np.ndarray) -> list[np.ndarray]:
    return [100 * (ways[:, k] - ways[:, 0]) for k in (1, 2)]


def _paired(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} +- {error:.3f}"
