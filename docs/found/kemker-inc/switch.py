"""Change one setting of GeppNet+STM at a time, in the incremental step of Kemker 2018's check.

    python docs/found/kemker-inc/switch.py DATA

The base is trained once for each digit and seed, with the default settings; then each
switch adds the digit to a copy of it. Writes switches.csv.gz beside this file. DATA:
folder of MNIST, in torchvision's layout.
"""

import copy
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from probe.examples import join
from probe.seeding import stream
from probe.tasks import Task
from probe.training.fresh_weights import initialize
from probe.training.recipe import Recipe
from scenarios.data.datasets import Location, load
from scenarios.learners.kemker.geppnet import (
    Geppnet,
    GeppnetStm,
    GeppnetStmSettings,
)
from scenarios.streams import group_classes

DIGITS = range(10)
SEEDS = (0, 1, 2)


@dataclass
class Switch:
    """A changed setting: one of the learner's, the replays of a sleep, or the draws' copies.

    Without replays the learner is GeppNet, which learns awake.
    """

    settings: dict = field(default_factory=dict)
    replays: int = 1
    copies: int = 1


SWITCHES = {
    "default": Switch(),
    "sleep every 500": Switch({"sleep_interval": 500}),
    "sleep every 1,000": Switch({"sleep_interval": 1000}),
    "sleep every 4,000": Switch({"sleep_interval": 4000}),
    "memory of 100": Switch({"memory": 100}),
    "memory of 1,000": Switch({"memory": 1000}),
    "each replayed twice": Switch(replays=2),
    "half the readout's rate": Switch({"readout_rate": 5e-4}),
    "twice the readout's rate": Switch({"readout_rate": 2e-3}),
    "threshold 0": Switch({"threshold": 0.0}),
    "threshold 0.1": Switch({"threshold": 0.1}),
    "threshold 0.25": Switch({"threshold": 0.25}),
    "threshold 0.75": Switch({"threshold": 0.75}),
    "a quarter of the draws new": Switch(copies=3),
    "half of the draws new": Switch(copies=9),
    "GeppNet": Switch(replays=0),
    "GeppNet, threshold 0": Switch({"threshold": 0.0}, replays=0),
    "GeppNet, a quarter of the draws new": Switch(copies=3, replays=0),
}


class Switched(GeppnetStm):
    """GeppNet+STM that replays each stored example, and draws each new one, more often."""

    switch = Switch()

    def later_session(self, data, shares):
        """Learn awake or in sleeps."""
        kind = GeppnetStm if self.switch.replays else Geppnet
        kind.later_session(self, data, shares)

    def _sleep(self, memory, shares):
        for _ in range(self.switch.replays):
            super()._sleep(memory, shares)

    def draws(self, data, iterations, block):
        """Yield draws from the stored examples and copies of the new ones."""
        copies = join([data] * self.switch.copies)
        return super().draws(copies, iterations, block)


def learner_of(switch: Switch, model: nn.Module, seed: int) -> Switched:
    """Return a learner with a changed setting."""
    settings = GeppnetStmSettings(**switch.settings)
    learner = Switched(model, Recipe(), settings, seed)
    learner.switch = switch
    return learner


def base_of(task: Task, seed: int) -> nn.Module:
    """Return the network after the base session."""
    model = GeppnetStm.network(GeppnetStmSettings(), (1, 28, 28), classes=10, tasks=2)
    initialize(model, "torch", stream(seed, "init"))
    learner_of(Switch(), model, seed).learn(task)
    return model


def correct(model: nn.Module, task: Task) -> torch.Tensor:
    """Return which test examples of a task are right, 0 or 1."""
    with torch.no_grad():
        predicted = model(task.test.x).argmax(1)
    return (predicted == task.test.y).double()


def main(data: Path) -> None:
    """Run all switches, and write their accuracies."""
    torch.set_num_threads(1)
    mnist = load("mnist", Location(data))
    rows = []
    for digit in DIGITS:
        others = [label for label in range(10) if label != digit]
        tasks = group_classes(mnist, "class-incremental", [others, [digit]]).tasks
        for seed in SEEDS:
            base = base_of(tasks[0], seed)
            for name, switch in SWITCHES.items():
                learner = learner_of(switch, copy.deepcopy(base), seed)
                learner.restore({}, tasks[:1])
                learner.learn(tasks[1])
                old = correct(learner.model, tasks[0])
                new = correct(learner.model, tasks[1])
                row = {
                    "digit": digit,
                    "seed": seed,
                    "switch": name,
                    "base": old.mean().item(),
                    "new": new.mean().item(),
                    "overall": torch.cat([old, new]).mean().item(),
                }
                rows.append(row)
    path = Path(__file__).with_name("switches.csv.gz")
    pd.DataFrame(rows).to_csv(
        path, index=False, compression={"method": "gzip", "mtime": 0}
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
