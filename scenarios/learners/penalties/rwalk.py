"""RWalk: a penalty by the running Fisher and by a path integral."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.extensions import learner
from probe.tasks import Task
from scenarios.learners.penalties.ewc_online import EwcOnline, OnlineSettings
from scenarios.learners.penalties.quadratic import Quadratic, by_kind, of_kind
from scenarios.learners.penalties.si import PathIntegralLearner


class RWalkSettings(OnlineSettings):
    """The settings of RWalk.

    Attributes:
        strength: lambda (Chaudhry 2018: 1000 on MNIST and CIFAR-100, 500 there single-head).
        interval: Delta t, the steps over which a distance is measured (the paper gives no value).
        epsilon: Added to the distance (the paper gives no value).
        distance: `fisher`, 1/2 F Delta theta^2, or `euclidean`, Delta theta^2.
    """

    strength: float = Field(default=1000.0, ge=0, allow_inf_nan=False)
    interval: int = Field(default=10, ge=1)
    epsilon: float = Field(default=1e-6, gt=0, allow_inf_nan=False)
    distance: Literal["fisher", "euclidean"] = "fisher"


@learner("rwalk")
class RWalk(PathIntegralLearner, EwcOnline):
    """Riemannian walk: EWC++ with a path-integral score (Chaudhry 2018).

    It minimizes L + lambda sum_i (F_i + s_i) (theta_i - theta'_i)^2, with theta' the parameters
    after the last task and F the running Fisher. A task's score is s_i = sum over intervals of the
    loss's drop due to parameter i (`PathIntegralLearner`) / (1/2 F_i Delta theta_i^2 + epsilon), F
    at the interval's end and Delta theta_i the distance moved in it; the last interval may be
    shorter. Negative scores are set to 0, then, from the second task on, s <- (s of earlier tasks +
    s of this one) / 2. In the penalty F and s are each normalized to [0, 1] by their extremes over
    the whole network, heads included; they are carried without that. Source: section 4.1, equations
    6 to 8.

    Readings: the text speaks of the drop of the penalized loss, equation 7 of L; here it is the
    batch's own loss, as in SI, or else the penalty's pull would count as importance. The score as a
    whole is cut at 0, as in the text, not each interval's share, in which noise would add up. With
    the Euclidean distance, one interval and epsilon = xi it is thus SI's score.
    """

    by_scores = True
    settings_class = RWalkSettings
    settings: RWalkSettings
    share = 1.0
    # 5 of EwcOnline, 1 of SI's path, and 4 at the end of an interval of ten steps.
    elementwise = 7

    score: Mapping[str, Tensor] = MappingProxyType({})

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._new = {name: torch.zeros_like(fisher) for name, fisher in self.fisher.items()}
        self._steps = 0

    def after_step(self, model: nn.Module) -> None:
        super().after_step(model)
        self._steps += 1
        if self._steps % self.settings.interval == 0:
            self._close_interval()

    def end(self, task: Task) -> None:
        super().end(task)
        # The last interval may be shorter.
        self._close_interval()
        old, new = self.score, {name: score.clamp(min=0) for name, score in self._new.items()}
        self.score = {n: (old[n] + score) / 2 for n, score in new.items()} if old else new
        self._penalize({n: p.detach().clone() for n, p in self._trained.items()})

    def carried(self) -> dict[str, Tensor]:
        if not self.penalty:
            return {}
        return by_kind(fisher=self.fisher, score=self.score, anchor=self.penalty.anchor)

    def take_over(self, carried: dict[str, Tensor]) -> None:
        if carried:
            self.fisher, self.score = of_kind(carried, "fisher"), of_kind(carried, "score")
            self._penalize(of_kind(carried, "anchor"))

    def _penalize(self, anchor: Mapping[str, Tensor]) -> None:
        score = normalized(self.score)
        importance = {name: f + score[name] for name, f in normalized(self.fisher).items()}
        self.penalty = Quadratic(importance, anchor)

    @torch.no_grad()
    def _close_interval(self) -> None:
        for name, drop in self.drop.items():
            distance = self.moved(name).square()
            if self.settings.distance == "fisher":
                # The KL divergence of the outputs, to second order.
                distance *= self.fisher[name] / 2
            self._new[name] += drop / (distance + self.settings.epsilon)
        self.restart()


def normalized(numbers: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return (v - least) / (largest - least), the two over all tensors; 0 where all are equal.

    >>> normalized({"weight": torch.tensor([1.0, 3.0]), "bias": torch.tensor([5.0])})
    {'weight': tensor([0.0000, 0.5000]), 'bias': tensor([1.])}
    """
    least = torch.stack([x.min() for x in numbers.values()]).min()
    span = torch.stack([x.max() for x in numbers.values()]).max() - least
    return {n: torch.where(span > 0, (x - least) / span, 0.0) for n, x in numbers.items()}
