"""Three networks for spoken digits with wide features: of a line, a map and a sequence.

docs/readouts.md has the command that measures them.
"""

from __future__ import annotations

from torch import Tensor, nn

import probe


class Mean(nn.Module):
    """The mean over all positions of (B, T, D)."""

    def forward(self, x: Tensor) -> Tensor:
        """Take the mean."""
        return x.mean(1)


class Time(nn.Module):
    """An image of bands x time (B, 1, 24, 24) as a sequence of its times (B, 24, 24)."""

    def forward(self, x: Tensor) -> Tensor:
        """Turn the image."""
        return x.squeeze(1).mT


@probe.network("line", features=["1", "3", "5"])
def line() -> nn.Module:
    """Make three convolutions over time, the bands being channels."""
    return nn.Sequential(
        nn.Flatten(1, 2),
        *(nn.Conv1d(24, 64, 3, padding=1), nn.ReLU()),
        *(nn.Conv1d(64, 64, 3, padding=1), nn.ReLU()),
        *(nn.Conv1d(64, 64, 3, padding=1), nn.ReLU()),
        *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 10)),
    )


@probe.network("map", features=["0", "2", "4"])
def image() -> nn.Module:
    """Make three convolutions over bands and time."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU()),
        *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
    )


@probe.network("sequence", features=["1", "2", "3"])
def sequence() -> nn.Module:
    """Make a transformer of two layers over time."""
    layers = [
        nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True) for _ in range(2)
    ]
    return nn.Sequential(Time(), nn.Linear(24, 64), *layers, Mean(), nn.Linear(64, 10))
