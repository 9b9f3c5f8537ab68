"""What LwF and iCaRL share: the model as it was before the task, to learn from."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from probe.modules import copied
from probe.tasks import Task
from scenarios.learners.continual import ContinualLearner


class DistillingLearner(ContinualLearner):
    """A learner whose old model, a copy made when a task begins, teaches the new one.

    The copy is in eval mode: it draws nothing at random and its batch norm stays as it was. It is
    the model that the last task left, so that nothing is carried from task to task.
    """

    _old: nn.Module | None = None

    def begin(self, task: Task) -> None:
        super().begin(task)
        # In the first task there is nothing that it could teach.
        if self.seen and self.distils:
            self._old = copied(self.model).requires_grad_(False).eval()

    @property
    def distils(self) -> bool:
        """Whether the old model's outputs count at all."""
        return True

    @torch.no_grad()
    def old_scores(self, x: Tensor) -> Tensor | None:
        """Return the old model's scores (B, K) for a batch, None if there is no old model."""
        # A copy: a model may write into its input.
        return None if self._old is None else self._old(x.clone())

    def end(self, task: Task) -> None:
        super().end(task)
        # The next task makes a copy of its own: a checkpoint needs none.
        self._old = None
