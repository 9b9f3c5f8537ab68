"""Compare our weights with avalanche's: `python -m tests.peers --data DIR` (see README.md)."""

import argparse
import copy
import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Scenario
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import Location, limited, load
from scenarios.learners.base import Settings
from scenarios.learners.catalog import LEARNERS, settings_of
from scenarios.networks import build_network
from scenarios.streams import split_by_class
from tests.peers.avalanche_side import Avalanche
from tests.peers.plugins import corrected, plugins

RECIPE = Recipe(epochs=1, batch_size=64, learning_rate=1e-3, init="torch")
# The settings of the papers where these give one.
SETTINGS: dict[str, dict[str, Any]] = {
    "finetune": {},
    "ewc": {"strength": 75_000.0},
    "si": {"strength": 1.0, "damping": 1e-3},
    "lwf": {"strength": 1.0, "temperature": 2.0},
    "gem": {"memory_per_class": 128, "margin": 0.5},
}


def main() -> None:
    """Print the differences of weights after each task, on the same batches in float64."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with MNIST")
    parser.add_argument("--learners", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument("--limit", type=int, help="training examples of a class, all if left out")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    # Rounding errors grow: Adam makes a step of full size out of a gradient that should be 0.
    torch.set_default_dtype(torch.float64)
    scenario = split_by_class(limited(load("mnist", Location(asked.data)), asked.limit))
    tasks = [
        dataclasses.replace(task, train=Examples(task.train.x.double(), task.train.y))
        for task in scenario.tasks
    ]
    scenario = dataclasses.replace(scenario, tasks=tuple(tasks))
    rows: dict[tuple[str, str], list[float]] = {}
    for kind in asked.learners:
        found = differences(settings_of({"kind": kind, **SETTINGS[kind]}), scenario, 0)
        rows |= {(kind, name): row for name, row in found.items()}
    columns = [*(task.name for task in scenario.tasks), "moved"]
    print(pd.DataFrame.from_dict(rows, "index", columns=columns).map("{:.0e}".format))


def differences(settings: Settings, scenario: Scenario, seed: int) -> dict[str, list[float]]:
    """Return the largest difference of a weight after each task, and how far one of ours moved.

    By counterpart: the exact one, and beside it the library's own where that is another.
    """
    exact, own = (make(settings, RECIPE, scenario, seed) for make in (corrected, plugins))
    same = [type(one) for one in own] == [type(one) for one in exact]
    found = {}
    for name, added in {"its own": own, **({} if same else {"corrected": exact})}.items():
        start = build_network("mlp", scenario.tasks[0].train.x.shape[1:], scenario.classes).double()
        initialize(start, RECIPE.init, stream(seed, "init"))
        model = copy.deepcopy(start)
        ours = LEARNERS[settings.kind](model, RECIPE, settings, seed)
        theirs = Avalanche(copy.deepcopy(start), RECIPE, added, scenario, seed)
        found[name] = []
        for position, task in enumerate(scenario.tasks):
            ours.learn(task)
            theirs.learn(position)
            found[name].append(_largest(model, theirs.model))
        found[name].append(_largest(model, start))
    return found


def _largest(one: nn.Module, other: nn.Module) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((p - q).detach().abs().max()) for p, q in pairs)


if __name__ == "__main__":
    main()
