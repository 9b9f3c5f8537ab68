"""RWalk: the running Fisher, and what each parameter brought on its way, hold the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.tasks import Task
from scenarios.learners.base import by_kind, of_kind
from scenarios.learners.catalog import learner
from scenarios.learners.penalties.ewc_online import OnlineSettings, RunningFisherLearner
from scenarios.learners.penalties.path_integral import PathIntegral
from scenarios.learners.penalties.quadratic import Quadratic


class RWalkSettings(OnlineSettings):
    """strength: lambda (Chaudhry 2018: 1000 on MNIST and CIFAR-100, 500 there single-head).

    interval: steps between two looks at the distance, Delta t; epsilon: added to it; distance:
    `fisher`, 1/2 F Delta theta^2, or `euclidean`, Delta theta^2. The paper gives no values of
    interval and epsilon; they are ours.
    """

    kind: Literal["rwalk"] = "rwalk"
    strength: float = Field(default=1000.0, ge=0, allow_inf_nan=False)
    interval: int = Field(default=10, ge=1)
    epsilon: float = Field(default=1e-6, gt=0, allow_inf_nan=False)
    distance: Literal["fisher", "euclidean"] = "fisher"


@learner("rwalk")
class RWalk(RunningFisherLearner):
    """Minimize L + lambda sum_i (F_i + s_i) (theta_i - theta'_i)^2.

    theta' is where the last task ended, F the running Fisher. The score of a task is s_i = sum over
    intervals of the loss's drop due to parameter i (see `PathIntegral`) / (1/2 F_i Delta theta_i^2
    + epsilon), F at the interval's end and Delta theta_i the way made in it; the task's last
    interval may be shorter. Negative scores are set to 0, then s <- (s of earlier tasks + s of this
    task) / 2, from the second task on. In the penalty F and s are normalized, each to [0, 1] by its
    least and largest number in the whole network, heads included; what is carried and goes on is
    not.
    Source: Chaudhry 2018, section 4.1, equations 6 to 8.

    Readings: the text speaks of the drop of the penalized loss, equation 7 of L; it is the batch's
    own loss here, as in SI, or else being pulled back by the penalty would count as importance. The
    score as a whole is cut at 0, as the text has it, not each interval's share: noise that goes up
    and down would add up. With the Euclidean distance, one interval and epsilon = xi it is thus the
    score of SI.
    """

    settings_class = RWalkSettings
    settings: RWalkSettings
    # The running Fisher and the penalty 5 (see EwcOnline), the path 1 (see SI); the end of an
    # interval takes 4, which over the default's ten steps is less than 1.
    elementwise: ClassVar[int] = 7

    score: Mapping[str, Tensor] = MappingProxyType({})

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._path = PathIntegral(self.model)
        self._new = {name: torch.zeros_like(each) for name, each in self.fisher.items()}
        self._steps = 0

    def after_backward(self, model: nn.Module) -> None:
        # Before the penalty's gradient is added.
        self._path.before_step()
        super().after_backward(model)

    def after_step(self, model: nn.Module) -> None:
        self._path.after_step()
        self._steps += 1
        if self._steps % self.settings.interval == 0:
            self._close_interval()

    def end(self, task: Task) -> None:
        super().end(task)
        # The last interval may be shorter.
        self._close_interval()
        # Cut at 0 as a whole, then averaged with the tasks before.
        old, new = self.score, {name: each.clamp(min=0) for name, each in self._new.items()}
        self.score = {n: (old[n] + each) / 2 for n, each in new.items()} if old else new
        self._hold({n: p.detach().clone() for n, p in self.model.named_parameters() if n in new})

    def carried(self) -> dict[str, Tensor]:
        if not self.penalty:
            return {}
        return by_kind(fisher=self.fisher, score=self.score, anchor=self.penalty.anchor)

    def take_over(self, carried: dict[str, Tensor]) -> None:
        if carried:
            self.fisher, self.score = of_kind(carried, "fisher"), of_kind(carried, "score")
            self._hold(of_kind(carried, "anchor"))

    def _hold(self, anchor: Mapping[str, Tensor]) -> None:
        fisher, score = normalized(self.fisher), normalized(self.score)
        self.penalty = Quadratic({name: fisher[name] + score[name] for name in fisher}, anchor)

    @torch.no_grad()
    def _close_interval(self) -> None:
        for name, drop, moved in self._path.so_far():
            distance = moved.square()
            if self.settings.distance == "fisher":
                # How far the outputs move, to second order: the KL divergence.
                distance *= self.fisher[name] / 2
            self._new[name] += drop / (distance + self.settings.epsilon)
        self._path.restart()


def normalized(numbers: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return (v - least) / (largest - least), the two over all tensors; 0 where all are equal.

    Names and shapes stay as they are.

    >>> normalized({"weight": torch.tensor([1.0, 3.0]), "bias": torch.tensor([5.0])})
    {'weight': tensor([0.0000, 0.5000]), 'bias': tensor([1.])}
    """
    least = torch.stack([each.min() for each in numbers.values()]).min()
    span = torch.stack([each.max() for each in numbers.values()]).max() - least
    return {n: torch.where(span > 0, (each - least) / span, 0.0) for n, each in numbers.items()}
