"""Synaptic intelligence: a penalty by each parameter's part in the drop of the loss."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from probe.tasks import Task
from scenarios.learners.catalog import learner
from scenarios.learners.penalties.path_integral import PathIntegral
from scenarios.learners.penalties.quadratic import PenalizedLearner, PenalizedSettings, Quadratic


class SiSettings(PenalizedSettings):
    """strength: c (Murata 2020: 1.0; Chaudhry 2018: 0.1 on MNIST, 10 on CIFAR-100); damping: xi,
    which keeps the importance of parameters that did not move finite (ours: no paper gives it).
    """

    strength: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    damping: float = Field(default=1e-3, gt=0, allow_inf_nan=False)


@learner("si")
class SynapticIntelligence(PenalizedLearner):
    """Synaptic intelligence, or PI (Zenke, Poole and Ganguli 2017).

    It minimizes L + c sum_i Omega_i (theta_i - theta*_i)^2, with theta* the parameters after the
    last task. Over a task's steps omega_i = - sum of g_i times the step of theta_i; g is the
    gradient of the batch's own loss, replayed exemplars included, the penalty not. At its end
    Omega_i += max(omega_i, 0) / (Delta_i^2 + xi), with Delta_i the distance that theta_i moved.

    Source: equations 3 to 5 (PI in Chaudhry 2018, SI in Murata 2020). A deviation: negative omega,
    which the paper does not mention, would push parameters away without bound; they are cut at 0
    for each task.
    """

    settings_class = SiSettings
    settings: SiSettings
    # The penalty's gradient 2 (see Ewc), and g times the step.
    elementwise: ClassVar[int] = 3

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._path = PathIntegral(self.model)

    def after_backward(self, model: nn.Module) -> None:
        # Before the penalty's gradient is added.
        self._path.before_step()
        super().after_backward(model)

    def after_step(self, model: nn.Module) -> None:
        self._path.after_step()

    @torch.no_grad()
    def end(self, task: Task) -> None:
        super().end(task)
        importance = {
            name: drop.clamp(min=0) / (moved.square() + self.settings.damping)
            for name, drop, moved in self._path.so_far()
        }
        # Importance adds up over tasks; the anchor is the latest.
        if self.penalty:
            importance = {n: w + self.penalty.importance[n] for n, w in importance.items()}
        self.penalty = Quadratic.around(self.model, importance)
