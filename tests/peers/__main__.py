"""Compare our learners with avalanche's: `python -m tests.peers --data DIR` (see README.md)."""

import argparse
import json
from pathlib import Path

import torch
from rich.console import Console

from probe.training.loop import Recipe
from scenarios.data.datasets import Location, limited, load
from scenarios.streams.split import split_by_class
from tests.bench.timing import machine
from tests.peers.avalanche_side import usages
from tests.peers.compare import Run, run_all
from tests.peers.settings import SETTINGS
from tests.peers.tables import as_json, tables

WARM_UP = 16  # examples of a class


def main() -> None:
    """Run everything, and print and write what is known after each learner."""
    asked = _arguments()
    torch.set_num_threads(1)
    console = Console(width=140)
    console.print(machine())
    data = load("mnist", Location(asked.data))
    scenario = split_by_class(limited(data, asked.limit))
    recipe = Recipe(epochs=asked.epochs, batch_size=64, learning_rate=1e-3, init="torch")
    streams = scenario, usages(asked.data, scenario, asked.limit)
    few = split_by_class(limited(data, WARM_UP))
    warm_up = few, usages(asked.data, few, WARM_UP)
    runs: list[Run] = []
    for kind in asked.learners:
        # What either side does only once is not to be timed.
        run_all(SETTINGS[kind], *warm_up, recipe, 0)
        for seed in range(asked.seeds):
            runs += run_all(SETTINGS[kind], *streams, recipe, seed)
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(json.dumps(as_json(runs, asked), indent=1), encoding="utf-8")
            console.print(f"{kind}, seed {seed}, {machine()}")
    for table in tables(runs):
        console.print(table)
    console.print(f"numbers: {asked.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with MNIST")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each learner, from seed 0")
    parser.add_argument("--learners", type=_learners, default=[*SETTINGS], help="such as er,ewc")
    parser.add_argument("--epochs", type=int, default=1, help="of each task")
    parser.add_argument("--limit", type=int, help="training examples of a class, all if left out")
    parser.add_argument("--out", type=Path, default=Path("runs/peers.json"), help="the numbers")
    return parser.parse_args()


def _learners(text: str) -> list[str]:
    kinds = text.split(",")
    unknown = [kind for kind in kinds if kind not in SETTINGS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(SETTINGS)}")
    return kinds


if __name__ == "__main__":
    main()
