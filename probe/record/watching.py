"""The comparison that a recorder carries out between steps of a training."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from probe.model import Model


@runtime_checkable
class Watcher(Protocol):
    """A comparison of the network in training with the network at the start."""

    def begin(self, model: Model, folder: Path) -> None:
        """Take the network as it is as that at the start, unless an earlier process has saved one.

        Args:
            model: The network in training, and its call.
            folder: The folder of the run.
        """

    def restart(self) -> None:
        """Take the network as it is as that at the start."""

    def after_step(self, lock: Callable[[], None]) -> None:
        """Count a step of the training, and compare if it is time to.

        Args:
            lock: The function that is called before anything is written.
        """
