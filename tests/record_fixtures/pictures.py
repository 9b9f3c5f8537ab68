"""The tiny pictures and the tiny network of the runs in this folder."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SIDE = 6
WIDTH = 8


def pictures(classes: int, train: bool) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return noise (N, 6, 6) with a light pixel at the place of its class, and the classes (N,)."""
    random = np.random.default_rng(int(train))
    y = np.arange((20 if train else 10) * classes) % classes
    x = random.integers(0, 120, (len(y), SIDE, SIDE))
    x[np.arange(len(y)), y // SIDE, y % SIDE] += 130
    return x.astype(np.uint8), y


class Body(nn.Module):
    """Pictures (N, 1, 6, 6) to features (N, 8), with batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2)
        self.fc1 = nn.Linear(50, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features."""
        return torch.relu(self.fc1(torch.relu(self.bn(self.conv(x))).flatten(1)))
