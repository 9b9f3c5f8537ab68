"""The stored results of one job: in a run directory (`probe.by_layer.store`) or in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from probe.by_layer.measurement import Measurement
from probe.by_layer.store import Checkpoint


class Results(Protocol):
    """The measurements of one job, and the networks trained for it, by name."""

    def read(self, part: str) -> Measurement | None:
        """Return a measurement by its name, None if it is not made yet."""

    def write(self, part: str, measured: Measurement) -> None:
        """Store a measurement."""

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        """Return the state of a network trained here and of its learner, None without one."""

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Store the state of a network and of its learner."""


@dataclass
class InMemory:
    """Results in memory."""

    parts: dict[str, Measurement] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def read(self, part: str) -> Measurement | None:
        """Return a measurement by its name, None if it is not made yet."""
        return self.parts.get(part)

    def write(self, part: str, measured: Measurement) -> None:
        """Store a measurement."""
        self.parts[part] = measured

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        """Return the state of a network trained here and of its learner, None without one."""
        return self.checkpoints.get(step)

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a network and what its learner carries."""
        model, learner = (
            {name: x.detach().clone() for name, x in each.items()} for each in (model, learner)
        )
        self.checkpoints[step] = Checkpoint(model=model, learner=learner, code="")
