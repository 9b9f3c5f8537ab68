"""Run FACIL's own `main` on tiny pictures: see README.md."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn

from tests.record_fixtures.pictures import WIDTH, Body, pictures

CLASSES = 6


class Pictures:
    """In place of torchvision's MNIST."""

    def __init__(self, path: str, train: bool, download: bool) -> None:
        self.data, self.targets = map(torch.from_numpy, pictures(CLASSES, train))


class Tiny(Body):
    """A network as FACIL wants one: `head_var` names what it takes off."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head_var = nn.Linear(WIDTH, 10), "fc"

    def forward(self, x: Tensor) -> Any:
        """Return the logits."""
        return self.fc(super().forward(x))


def main(source: str, *arguments: str) -> None:
    """source: the folder `src` of FACIL; arguments: its own."""
    sys.path.insert(0, source)
    import datasets.data_loader
    import main_incremental
    import networks

    datasets.data_loader.TorchVisionMNIST = Pictures
    networks.LeNet = lambda pretrained=False: Tiny()
    torch.set_num_threads(1)
    main_incremental.main(list(arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
