"""The base of LwF and iCaRL: the model before the task as a teacher."""

import torch
from torch import Tensor, nn

from probe.modules import copied
from probe.tasks import Task
from scenarios.learners.continual import ContinualLearner


class DistillingLearner(ContinualLearner):
    """A learner with an old model, a copy in eval mode made when a task begins, as its teacher."""

    _old: nn.Module | None = None

    def begin(self, task: Task) -> None:
        super().begin(task)
        if self.seen:
            self._old = copied(self.model).requires_grad_(False).eval()

    @torch.no_grad()
    def old_scores(self, x: Tensor) -> Tensor | None:
        """Return the old model's scores (B, K) for a batch, None if there is no old model."""
        # A copy: a model may write into its input.
        return None if self._old is None else self._old(x.clone())

    def end(self, task: Task) -> None:
        super().end(task)
        # The next task copies the model anew, so that a checkpoint needs no copy.
        self._old = None
