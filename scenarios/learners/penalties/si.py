"""Synaptic intelligence: a penalty by each parameter's contribution to the decrease of the loss."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from probe.extensions import learner
from probe.modules import detached
from probe.tasks import Task
from probe.validation import FromZero, PositiveFloat
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.penalties.quadratic import (
    PenalizedLearner,
    Quadratic,
    trained_parameters,
    zeros_for,
)


class SiSettings(ContinualSettings):
    """The settings of synaptic intelligence.

    Attributes:
        strength: The weight of the penalty, c (Murata 2020: 1.0; Chaudhry 2018: 0.1 on
            MNIST, 10 on CIFAR-100).
        damping: The constant xi, which keeps the importance finite for parameters that
            did not move (no paper gives a value).
    """

    strength: FromZero = 1.0
    damping: PositiveFloat = 1e-3


class PathIntegralLearner(PenalizedLearner):
    """A learner with the path integral over its training steps, for SI and RWalk.

    Only parameters that require gradients count. Source: Zenke, Poole and Ganguli 2017,
    equation 3.

    Attributes:
        drop: The sum over steps of -g_i (theta_i after - theta_i before) by parameter,
            g the gradient of the batch's loss. Over small steps the sums of all
            parameters add up to the drop of that loss.
    """

    sums: ClassVar[Sequence[str]] = ("drop", "_before", "_start")

    def begin(self, task: Task) -> None:
        """Start the path integral at the present parameters."""
        super().begin(task)
        self._trained = trained_parameters(self.model)
        self._before = detached(self._trained)
        self._start = detached(self._before)
        self._gradient = zeros_for(self._before)
        self.drop = zeros_for(self._before)

    @torch.no_grad()
    def after_backward(self, model: nn.Module) -> None:
        """Copy the gradient of the batch's loss, then add the penalty's gradient."""
        # A copy, as a penalty's gradient is added.
        for name, p in self._trained.items():
            if p.grad is None:
                self._gradient[name].zero_()
            else:
                self._gradient[name].copy_(p.grad)
        super().after_backward(model)

    @torch.no_grad()
    def after_step(self, model: nn.Module) -> None:
        """Add gradient times step to the integral of each parameter."""
        for name, p in self._trained.items():
            # In place, before - after: no minus, and nothing allocated.
            step = self._before[name].sub_(p)
            self.drop[name].addcmul_(self._gradient[name], step)
            self._before[name].copy_(p)

    def moved(self, name: str) -> Tensor:
        """Return how far a parameter has moved since the start of the integral."""
        return self._before[name] - self._start[name]


@learner("si")
class SynapticIntelligence(PathIntegralLearner):
    """Synaptic intelligence, or PI (Zenke, Poole and Ganguli 2017).

    It minimizes L + c sum_i Omega_i (theta_i - theta*_i)^2, with theta* the parameters
    after the last task. Over a task's steps omega_i = - sum of g_i times the step of
    theta_i, where g is the gradient of the batch's loss, with replayed exemplars but
    without the penalty. At the end of the task Omega_i += max(omega_i, 0) / (Delta_i^2
    + xi), with Delta_i the distance that theta_i moved.

    Source: equations 3 to 5 (PI in Chaudhry 2018, SI in Murata 2020). Deviation: a
    negative omega, which the paper does not mention, would push parameters away without
    bound, so omega is clipped at 0 for each task.
    """

    by_scores = True
    settings_class = SiSettings
    settings: SiSettings
    # The penalty's gradient 2 (see Ewc), and g times the step.
    elementwise = 3

    def end(self, task: Task) -> None:
        """Add the task's importance to that of earlier tasks, and make the penalty."""
        super().end(task)
        importance = {}
        for name, drop in self.drop.items():
            distance = self.moved(name).square()
            importance[name] = drop.clamp(min=0) / (distance + self.settings.damping)
            # Importance adds up over tasks; the anchor is the latest.
            if self.penalty:
                importance[name] += self.penalty.importance[name]
        self.penalty = Quadratic.around(self.model, importance)
