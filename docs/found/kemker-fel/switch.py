"""Change one setting of FEL at a time, in Kemker 2018's check of it: non-stationary MNIST.

    python docs/found/kemker-fel/switch.py DATA

Each switch is trained for one epoch on each share of `make_shares`, by a plain loop.
Writes switches.csv.gz beside this file. DATA: folder of MNIST, in torchvision's layout.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch
from make_shares import SHARES, sessions
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.seeding import permutation, stream
from probe.training.fresh_weights import initialize
from scenarios.data.image_sets import read_image_set
from scenarios.learners.kemker.fel import Expansion, FelSettings, FixedExpansion

SEEDS = (0, 1, 2)
BATCH = 256
SESSIONS = 11


@dataclass
class Switch:
    """A changed setting.

    Attributes:
        settings: The changed settings of the network.
        rate: The learning rate.
        momentum: Whether Adam keeps its state from one session to the next.
        sessions: The sessions, from the first, in which the dense layer is trained.
        graded: Whether a unit that fires gives its excitation, and not 1 or -1.
        images: The share of each session's training images, the first.
    """

    settings: dict = field(default_factory=dict)
    rate: float = 2e-2
    momentum: bool = False
    sessions: int = SESSIONS
    graded: bool = False
    images: float = 1.0


SWITCHES = {
    "default": Switch(),
    "a tenth of the rate": Switch(rate=2e-3),
    "a hundredth of the rate": Switch(rate=2e-4),
    "twice as many units fire": Switch({"firing": 0.02}),
    "half as many units fire": Switch({"firing": 0.005}),
    "sigmoid": Switch({"activation": "sigmoid"}),
    "units give their excitation": Switch(graded=True),
    "Adam's state kept": Switch(momentum=True),
    "dense layer trained in the first session": Switch(sessions=1),
    "dense layer untrained": Switch(sessions=0),
    "dense layer untrained, Adam's state kept": Switch(momentum=True, sessions=0),
    "a quarter of the images": Switch(images=0.25),
    "dense layer untrained, half of the images": Switch(sessions=0, images=0.5),
    "dense layer untrained, a quarter of the images": Switch(sessions=0, images=0.25),
}


class Graded(Expansion):
    """An expansion layer whose units give their excitation if they fire."""

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, D) to the outputs (B, U) of the units."""
        excitation = functional.linear(x, self.weight)
        return excitation * self.signs(excitation.detach()).abs()


def network_of(switch: Switch, seed: int) -> nn.Module:
    """Return a fresh network."""
    settings = FelSettings(**switch.settings)
    model = FixedExpansion.network(settings, (1, 28, 28), classes=10, tasks=SESSIONS)
    if switch.graded:
        model.fel.__class__ = Graded
    initialize(model, "torch", stream(seed, "init"))
    return model


def batches(
    switch: Switch, data: Examples, session_of: Tensor, seed: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield the batches of all sessions in order, each with its session's position from 0."""
    for k, session in enumerate(session_of.unique().tolist()):
        rows = (session_of == session).nonzero().flatten()
        rows = rows[: round(switch.images * len(rows))]
        order = permutation(len(rows), stream(seed, "batches", k))
        for chosen in rows[order].split(BATCH):
            yield k, data.x[chosen], data.y[chosen]


def train(
    model: nn.Module, switch: Switch, data: Examples, session_of: Tensor, seed: int
) -> None:
    """Train a network on all sessions, one after another."""
    current = -1
    for k, x, y in batches(switch, data, session_of, seed):
        if k > current:
            current = k
            model.hidden.requires_grad_(k < switch.sessions)
            trained = [p for p in model.parameters() if p.requires_grad]
            if k == 0 or not switch.momentum:
                optimizer = torch.optim.Adam(trained, lr=switch.rate, fused=True)
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model: nn.Module, test: Examples) -> float:
    """Return the share of test images that are classified correctly."""
    return (model(test.x).argmax(1) == test.y).double().mean().item()


def main(data: Path) -> None:
    """Run all switches, and write their accuracies."""
    torch.set_num_threads(1)
    images = read_image_set("mnist", data, download=False)
    rows = []
    for share in SHARES:
        session_of = torch.as_tensor(
            sessions(images["train"].y.numpy(), share / 100, seed=0)
        )
        for seed in SEEDS:
            for name, switch in SWITCHES.items():
                model = network_of(switch, seed)
                train(model, switch, images["train"], session_of, seed)
                row = {
                    "share": share,
                    "seed": seed,
                    "switch": name,
                    "accuracy": accuracy(model, images["test"]),
                }
                rows.append(row)
    path = Path(__file__).with_name("switches.csv.gz")
    pd.DataFrame(rows).to_csv(
        path, index=False, compression={"method": "gzip", "mtime": 0}
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
