"""The recorder of a training's history."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from probe.modules import named_state
from probe.training.history import History
from probe.training.loop import Objective


class HistoryRecorder(Objective):
    """Plain cross-entropy, with a record of the course of training.

    After each epoch in `epochs`, from 1, the model's parameters and buffers are copied
    into `states`, by epoch and name; `probe.modules.restore` restores them.
    """

    by_scores = True

    def __init__(self, epochs: Collection[int] = ()) -> None:
        self._epochs = epochs
        self._right: list[Tensor] = []
        self._accuracies: list[float] = []
        self.states: dict[int, dict[str, Tensor]] = {}

    @property
    def history(self) -> History:
        """The history so far, available after the first epoch."""
        return History(losses=self.losses, accuracies=tuple(self._accuracies))

    def saw(self, scores: Tensor, y: Tensor) -> None:
        """Remember which examples were classified correctly."""
        self._right.append(scores.argmax(1) == y)

    def after_epoch(self, model: nn.Module, losses: Sequence[float]) -> None:
        """Add the epoch to the history."""
        super().after_epoch(model, losses)
        self._accuracies.append(float(torch.cat(self._right).double().mean()))
        self._right = []
        if len(self._accuracies) in self._epochs:
            state = named_state(model).items()
            self.states[len(self._accuracies)] = {
                n: v.detach().clone() for n, v in state
            }
