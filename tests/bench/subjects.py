"""The networks that are measured, on noise of the right size: only the time counts."""

from dataclasses import dataclass

import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from scenarios.networks import build_network

BATCH = 64


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A network and the size of its images; n: examples that a timed run trains on."""

    network: str
    shape: tuple[int, int, int]
    n: int

    def model(self, seed: int = 0) -> nn.Sequential:
        """Return the network with fresh weights and statistics of real batches."""
        model = build_network(self.network, self.shape, 10)
        initialize(model, "murata", stream(seed))
        with torch.no_grad():
            model(self.images(4 * BATCH, seed).x)
        return model

    def images(self, n: int, seed: int = 0) -> Examples:
        """Return n images of noise with random labels."""
        draw = stream(seed, "images")
        x = torch.rand(n, *self.shape, generator=draw)
        return Examples(x, torch.randint(10, (n,), generator=draw))


SUBJECTS = (
    Subject(network="cnn3", shape=(1, 28, 28), n=24 * BATCH),
    Subject(network="reduced_resnet18", shape=(3, 32, 32), n=8 * BATCH),
)
