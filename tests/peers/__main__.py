"""Compare our learners with avalanche's: `python -m tests.peers --data DIR` (see README.md)."""

import argparse
import dataclasses
import json
from pathlib import Path

import pandas as pd
import torch

from probe.examples import Examples
from probe.training.loop import Recipe
from scenarios.data.datasets import Location, limited, load
from scenarios.streams import split_by_class
from tests.bench.timing import machine
from tests.peers.avalanche_side import FASTEST, USUAL, usages
from tests.peers.compare import OURS, SETTINGS, differences, run_all

WARM_UP = 16  # examples of a class
SCORES = ["A all", "F all", "A own", "F own"]
RECIPE = Recipe(epochs=1, batch_size=64, learning_rate=1e-3, init="torch")


def main():
    """Print the differences of weights, or the scores and times, and write the latter."""
    asked = _arguments()
    torch.set_num_threads(1)
    if asked.exact:
        # Rounding errors grow: Adam makes a step of full size out of a gradient that
        # should be 0.
        torch.set_default_dtype(torch.float64)
        scenario = _scenario(asked.data, asked.limit, torch.float64)
        table = {}
        for kind in asked.learners:
            found = differences(SETTINGS[kind], scenario, RECIPE, 0)
            table |= {(kind, name): row for name, row in found.items()}
        columns = [*(task.name for task in scenario.tasks), "moved"]
        frame = pd.DataFrame.from_dict(table, "index", columns=columns)
        print(frame.map("{:.0e}".format))
        return
    print(machine())
    few = _scenario(asked.data, WARM_UP)
    scenario = _scenario(asked.data, asked.limit)
    warm_up = usages(asked.data, few, WARM_UP)
    uses = usages(asked.data, scenario, asked.limit)
    runs = []
    for kind in asked.learners:
        # What either side does only once is not to be timed.
        run_all(SETTINGS[kind], few, warm_up, RECIPE, 0)
        for seed in range(asked.seeds):
            runs += run_all(SETTINGS[kind], scenario, uses, RECIPE, seed)
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(
                json.dumps({"asked": vars(asked), "runs": runs}, default=str)
            )
            print(f"{kind}, seed {seed}, {machine()}")
    for frame in _tables(runs):
        print(frame.to_string())


def _tables(runs):
    """Yield the scores, * = off ours by more than both deviations, and the median times."""
    of = pd.DataFrame(runs).groupby(["learner", "side"], sort=False)
    mean = of[SCORES].mean()
    spread = of[SCORES].std().fillna(0)
    ours, both = (each.xs(OURS, level="side") for each in (mean, spread))
    off = mean.sub(ours, level="learner").abs() > spread.add(both, level="learner")
    shown = [each.map("{:.1f}".format) for each in (mean, spread)]
    yield shown[0] + " +- " + shown[1] + off.map({True: " *", False: ""}.get)
    seconds = of["seconds"].median().unstack()[[OURS, USUAL, FASTEST]]
    ratios = {
        f"ratio to {name}": seconds[name] / seconds[OURS] for name in (USUAL, FASTEST)
    }
    yield seconds.assign(**ratios).round(2)


def _scenario(data, limit, dtype=torch.float32):
    scenario = split_by_class(limited(load("mnist", Location(data)), limit))
    tasks = [
        dataclasses.replace(task, train=Examples(task.train.x.to(dtype), task.train.y))
        for task in scenario.tasks
    ]
    return dataclasses.replace(scenario, tasks=tuple(tasks))


def _arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with MNIST")
    parser.add_argument(
        "--exact", action="store_true", help="weights on the same batches, float64"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="runs of each learner, from seed 0"
    )
    parser.add_argument("--learners", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument(
        "--limit", type=int, help="training examples of a class, all if left out"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/peers.json"), help="the numbers"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
