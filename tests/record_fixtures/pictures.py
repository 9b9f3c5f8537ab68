"""The tiny pictures and the tiny network of the runs in this folder."""

import numpy as np
import torch
from torch import nn

SIDE = 6
WIDTH = 8


def pictures(classes, train):
    """Return noise (N, 6, 6) with a light pixel at the place of its class, and the classes (N,)."""
    random = np.random.default_rng(int(train))
    per_class = 20 if train else 10
    y = np.arange(per_class * classes) % classes
    n = len(y)
    x = random.integers(0, 120, (n, SIDE, SIDE))
    row = y // SIDE
    column = y % SIDE
    x[np.arange(n), row, column] += 130
    pixels = x.astype(np.uint8)
    return pixels, y


class Body(nn.Module):
    """Pictures (N, 1, 6, 6) to features (N, 8), with batch norm."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 2)
        self.bn = nn.BatchNorm2d(2)
        self.fc1 = nn.Linear(50, WIDTH)

    def forward(self, x):
        """Return the features."""
        x = self.conv(x)
        x = torch.relu(self.bn(x))
        x = self.fc1(x.flatten(1))
        return torch.relu(x)
