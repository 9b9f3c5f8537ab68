"""A small CNN whose layers narrow, so that untrained and offline-trained ones differ.

The network of study.toml beside this file.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

import probe


@probe.network("narrowing", features=["conv1", "conv2", "conv3", "hidden"])
def build() -> nn.Module:
    """Make three convolutions of stride 2, a dense layer of 64 units and the output."""
    stages: dict[str, nn.Module] = {}
    channels = 3
    for depth, width in enumerate((32, 64, 64), 1):
        convolution = nn.Conv2d(channels, width, kernel_size=3, stride=2, padding=1)
        stages[f"conv{depth}"] = nn.Sequential(convolution, nn.ReLU())
        channels = width
    stages["hidden"] = nn.Sequential(nn.Flatten(), nn.Linear(64 * 4 * 4, 64), nn.ReLU())
    stages["output"] = nn.Linear(64, 10)
    return nn.Sequential(OrderedDict(stages))
