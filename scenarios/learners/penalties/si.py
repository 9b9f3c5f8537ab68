"""Synaptic intelligence (PI): parameters that lowered the loss on their way are held."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from probe.tasks import Task
from scenarios.learners.catalog import learner
from scenarios.learners.penalties.path_integral import PathIntegral
from scenarios.learners.penalties.quadratic import PenalizedLearner, PenalizedSettings, Quadratic


class SiSettings(PenalizedSettings):
    """strength: c (Murata 2020: 1.0; Chaudhry 2018: 0.1 on MNIST, 10 on CIFAR-100); damping: xi,
    which keeps the importance of what did not move finite (neither paper gives it; ours).
    """

    kind: Literal["si"] = "si"
    strength: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    damping: float = Field(default=1e-3, gt=0, allow_inf_nan=False)


@learner("si")
class SynapticIntelligence(PenalizedLearner):
    """Minimize L + c sum_i Omega_i (theta_i - theta*_i)^2, theta* where the last task ended.

    While a task is learned, omega_i = - sum over steps of g_i times the step of theta_i, the part
    of the loss's drop that is parameter i's; g is the gradient of the batch's own loss, replayed
    exemplars included, the penalty not. At its end
    Omega_i += max(omega_i, 0) / (Delta_i^2 + xi), Delta_i = how far theta_i moved during the task.

    Source: Zenke, Poole and Ganguli 2017, equations 3 to 5 (PI in Chaudhry 2018, SI in Murata
    2020). A deviation: negative omega are not mentioned there; as an importance they would push
    parameters away from where they are, without bound, so they are cut at 0 for each task.
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
