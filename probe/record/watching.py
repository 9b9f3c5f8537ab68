"""The comparison that a recorder carries out between steps of a training."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import nn

from probe.model import Model


@runtime_checkable
class Watcher(Protocol):
    """A comparison of a network in training with the network at the start."""

    def begin(self, network: nn.Module, model: Model, folder: Path, *, resumes: bool) -> None:
        """Take a network as that at the start.

        Args:
            network: The network.
            model: The call of the network.
            folder: The folder of the run.
            resumes: Whether a start that an earlier process has saved there takes precedence.
        """

    def count_step(self) -> bool:
        """Count a step of the training, and return whether a comparison is due."""

    def check(self, network: nn.Module) -> None:
        """Compare the network as it is now, leaving it unchanged."""
