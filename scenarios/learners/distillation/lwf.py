"""Learning without forgetting: the old model's outputs on the new data are targets."""

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from probe.extensions import learner
from probe.modules import copied
from probe.tasks import Task
from scenarios.learners.continual import ContinualLearner, ContinualSettings


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


class LwfSettings(ContinualSettings):
    """strength: of the distillation, 0 is fine-tuning (Murata 2020: 1.0); temperature: T, by which
    scores are divided before they are compared (Li and Hoiem 2016: 2).
    """

    strength: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    temperature: float = Field(default=2.0, gt=0, allow_inf_nan=False)


@learner("lwf")
class LearningWithoutForgetting(DistillingLearner):
    """Learning without forgetting (Li and Hoiem 2016).

    It minimizes L + strength x T^2 KL(p', p), with p' and p the old and the new model's
    softmax(scores / T) over the classes seen before the task; with competing = "task", one term for
    the classes of each earlier task. The mean is over the whole batch, replayed exemplars included.
    The first task is fine-tuning.

    Deviations: KL in place of the cross-entropy, from which it differs by a constant; the factor
    T^2 of Hinton et al. 2015, with which the gradient's size does not depend on T; exemplars, if
    asked for; the old model runs beside the new one, where the paper records its outputs once,
    which gives the same; no warm-up of the new outputs alone; weight decay only by the recipe.
    """

    settings_class = LwfSettings
    by_scores = True
    first_task = "cross-entropy"
    settings: LwfSettings

    def begin(self, task: Task) -> None:
        # The old model's classes, before the task is among them.
        apart = self.settings.competing == "task"
        groups = list(dict.fromkeys(self._tasks)) if apart else [self.seen]
        super().begin(task)
        if not self.settings.strength:
            self._old = None
        self._groups = [torch.tensor(group, device=task.train.y.device) for group in groups]

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        old = self.old_scores(x)
        scores: Tensor = model(x)
        loss = self.classification(scores, y)
        if old is None:
            return loss
        temperature = self.settings.temperature
        terms = (softened_kl(old[:, g], scores[:, g], temperature) for g in self._groups)
        return loss + self.settings.strength * sum(terms)


def softened_kl(old: Tensor, new: Tensor, temperature: float) -> Tensor:
    """Return T^2 KL(softmax(old / T), softmax(new / T)), the mean over a batch of scores (B, C).

    >>> float(softened_kl(torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 5.0]]), 2.0))
    0.0
    """
    targets = functional.log_softmax(old / temperature, 1)
    outputs = functional.log_softmax(new / temperature, 1)
    # By logarithms, so that a probability of 0 gives 0, not NaN.
    divergence = functional.kl_div(outputs, targets, reduction="batchmean", log_target=True)
    return temperature**2 * divergence
