"""Differences of weights on the same batches in float64: `python -m tests.peers.exact`.

Rounding errors grow: Adam makes a step of full size out of a gradient that should be 0. In float64
what is left shows whether two learners do the same.
"""

import argparse
import copy
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from probe.examples import Examples
from probe.tasks import Scenario
from probe.training.loop import Recipe
from scenarios.data.datasets import Location, limited, load
from scenarios.learners.base import Settings
from scenarios.streams.split import split_by_class
from tests.peers.avalanche_side import Avalanche, same_batches
from tests.peers.compare import fresh
from tests.peers.ours import Ours
from tests.peers.plugins import corrected, plugins
from tests.peers.settings import SETTINGS


def main() -> None:
    """Print the largest difference of a weight after each task."""
    asked = _arguments()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    scenario = _double(split_by_class(limited(load("mnist", Location(asked.data)), asked.limit)))
    recipe = Recipe(epochs=1, batch_size=64, learning_rate=1e-3, init="torch")
    table = Table(
        "learner", "avalanche", *(f"task {task.name}" for task in scenario.tasks), "largest move"
    )
    table.title = f"Largest difference of a weight, float64, {asked.limit} examples of a class"
    for kind, settings in SETTINGS.items():
        for name, added in _counterparts(settings, recipe, scenario, asked.seed).items():
            differences, moved = compare(settings, added, scenario, recipe, asked.seed)
            table.add_row(kind, name, *(f"{d:.0e}" for d in differences), f"{moved:.2f}")
    Console(width=120).print(table)


def compare(
    settings: Settings, added: Sequence[Any], scenario: Scenario, recipe: Recipe, seed: int
) -> tuple[list[float], float]:
    """Return the largest difference of a weight after each task, and how far one of ours moved."""
    start = fresh(scenario, recipe, seed).double()
    ours = Ours(copy.deepcopy(start), recipe, settings, scenario, seed)
    theirs = Avalanche(copy.deepcopy(start), recipe, added, same_batches(scenario, seed), seed)
    differences = []
    for position in range(len(scenario.tasks)):
        ours.learn(position)
        theirs.learn(position)
        differences.append(_largest(ours.model, theirs.model))
    return differences, _largest(ours.model, start)


def _counterparts(
    settings: Settings, recipe: Recipe, scenario: Scenario, seed: int
) -> dict[str, Sequence[Any]]:
    """Return the exact counterpart, and beside it the library's own where that is another."""
    exact = corrected(settings, recipe, scenario, seed)
    if exact is None:
        return {}
    own = plugins(settings, recipe, scenario)
    if [type(one) for one in own] == [type(one) for one in exact]:
        return {"its own": own}
    return {"corrected": exact, "its own": own}


def _largest(one: nn.Module, other: nn.Module) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((p - q).detach().abs().max()) for p, q in pairs)


def _double(scenario: Scenario) -> Scenario:
    tasks = [
        dataclasses.replace(task, train=Examples(task.train.x.double(), task.train.y))
        for task in scenario.tasks
    ]
    return Scenario(name=scenario.name, kind=scenario.kind, tasks=tuple(tasks))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.peers.exact", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with MNIST")
    parser.add_argument("--limit", type=int, default=300, help="training examples of a class")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
