"""EWC++ and RWalk (Chaudhry 2018): penalties by a running Fisher, and by a path integral."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn

from probe.batch import Named
from probe.extensions import learner
from probe.modules import detached
from probe.tasks import Task
from probe.validation import FromZero, PositiveFloat, PositiveInt, Share
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.penalties.quadratic import (
    PenalizedLearner,
    Quadratic,
    by_kind,
    of_kind,
    trained_parameters,
    zeros_for,
)
from scenarios.learners.penalties.si import PathIntegralLearner


class OnlineSettings(ContinualSettings):
    """The settings of EWC++.

    Attributes:
        strength: The weight of the penalty, lambda (Chaudhry 2018: 75000 on MNIST, 3e6
            on CIFAR-100, 1.5e6 with samples).
        alpha: The weight of the newest batch in the running Fisher (the paper gives no
            value; the authors' code has 0.9).
        fisher_interval: The number of steps between updates of the Fisher (their code:
            10).
        normalized: Whether the penalty has the Fisher normalized to [0, 1] by its
            extremes over the whole network (their code does so, without the 1/2: double
            the strength).
    """

    strength: FromZero = 75_000.0
    alpha: Share = 0.01
    fisher_interval: PositiveInt = 1
    normalized: bool = False


@learner("ewc_online")
class EwcOnline(PenalizedLearner):
    """EWC++, elastic weight consolidation with one running Fisher (Chaudhry 2018).

    It minimizes L + (lambda / 2) sum_i F_i (theta_i - theta'_i)^2, with theta' the
    parameters and F the running Fisher at the end of the last task, not normalized by
    default. Source: section 4.1, equations 5, 6 and 2; in the paper's tables it is
    called EWC.

    F <- alpha F_batch + (1 - alpha) F at every step (equation 6), or at each
    `fisher_interval`-th; F starts at 0 and continues from task to task. Without extra
    passes, there is only the mean gradient g of the batch's B examples (replayed ones
    included, the penalty's gradient not), so F_batch = B g^2: at a minimum of the loss,
    where the mean gradient over the data vanishes, its expectation is the empirical
    Fisher for every B; elsewhere it is larger by (B - 1) times the square of that mean.
    The paper does not say how a batch gives its Fisher; g^2 by itself would be B times
    too small.

    Attributes:
        fisher: The running Fisher F by parameter name, of the parameter's shape.
    """

    by_scores = True
    sums: ClassVar[Sequence[str]] = ("fisher", "_steps")
    settings_class = OnlineSettings
    settings: OnlineSettings
    share = 1 / 2
    # The penalty's gradient 2 (see Ewc); the Fisher: g^2, its weight, and the old one's
    # weight.
    elementwise = 5
    fisher: Mapping[str, Tensor] = MappingProxyType({})
    _batch = _steps = 0

    def begin(self, task: Task) -> None:
        """Start counting steps, and go on with a copy of the running Fisher."""
        super().begin(task)
        self._steps = 0
        trained = trained_parameters(self.model)
        fishers = self.fisher or zeros_for(trained)
        # Copies: the Fisher of the penalty must not move. Only of layers that are trained:
        # the Fisher of frozen ones would count among the extremes that normalize all.
        self.fisher = {name: fishers[name].clone() for name in trained}

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
    ) -> Tensor:
        """Note the size of the batch, which scales its Fisher, and return its loss."""
        # Replayed examples included.
        self._batch = len(y)
        return super().loss(model, x, y)

    @torch.no_grad()
    def after_backward(self, model: nn.Module) -> None:
        """Update the running Fisher if it is due, then add the penalty's gradient."""
        # Before the penalty's gradient is added.
        alpha = self.settings.alpha
        self._steps += 1
        is_due = self._steps % self.settings.fisher_interval == 0
        for name, p in model.named_parameters():
            if is_due and p.grad is not None and name in self.fisher:
                fisher = self.fisher[name].mul_(1 - alpha)
                fisher.addcmul_(p.grad, p.grad, value=alpha * self._batch)
        super().after_backward(model)

    def end(self, task: Task) -> None:
        """Make the penalty of the running Fisher around the parameters as they are."""
        super().end(task)
        importance = self.fisher
        if self.settings.normalized:
            importance = normalized(self.fisher)
        self.penalty = Quadratic.around(self.model, importance)

    def carried(self) -> Named:
        """Return the penalty and, if it is normalized, the Fisher that it was made of."""
        tensors = super().carried()
        if self.settings.normalized:
            tensors |= by_kind(fisher=self.fisher)
        return tensors

    def take_over(self, carried: Named) -> None:
        """Restore the penalty and the running Fisher."""
        super().take_over(carried)
        # Unless normalized, the penalty's importance is the Fisher, which continues
        # from there.
        if self.penalty:
            self.fisher = of_kind(carried, "fisher") or self.penalty.importance


class RWalkSettings(OnlineSettings):
    """The settings of RWalk.

    Attributes:
        strength: The weight of the penalty, lambda (Chaudhry 2018: 1000 on MNIST and
            CIFAR-100; 500 on CIFAR-100 with a single head).
        interval: The number of steps over which a distance is measured, Delta t (the
            paper gives no value).
        epsilon: The number added to the distance (the paper gives no value).
        distance: The distance: `fisher`, 1/2 F Delta theta^2, or `euclidean`, Delta
            theta^2. As scores are normalized, a distance without the 1/2 has the effect
            of half the epsilon.
        clipped: Where negative scores are set to 0: at the end of each `task`, or of
            each `interval` (the authors' code).
        normalized: To be left out: Fisher and score are always normalized.
    """

    strength: FromZero = 1000.0
    interval: PositiveInt = 10
    epsilon: PositiveFloat = 1e-6
    distance: Literal["fisher", "euclidean"] = "fisher"
    clipped: Literal["task", "interval"] = "task"

    @model_validator(mode="after")
    def _always_normalized(self) -> Self:
        """Raise ValueError for a flag that would have no effect."""
        if self.normalized:
            raise ValueError(
                "leave out normalized: RWalk always normalizes Fisher and score"
            )
        return self


@learner("rwalk")
class RWalk(PathIntegralLearner, EwcOnline):
    """Riemannian walk: EWC++ with a path-integral score (Chaudhry 2018).

    It minimizes L + lambda sum_i (F_i + s_i) (theta_i - theta'_i)^2, with theta' the
    parameters after the last task and F the running Fisher. A task's score is s_i = sum
    over intervals of the loss's drop due to parameter i (`PathIntegralLearner`) / (1/2
    F_i Delta theta_i^2 + epsilon), F at the interval's end and Delta theta_i the
    distance moved in it; the last interval may be shorter. Negative scores are set to
    0, then, from the second task on, s <- (s of earlier tasks + s of this one) / 2. In
    the penalty F and s are each normalized to [0, 1] by their extremes over the whole
    network, heads included; they are carried to the next task unnormalized. Source:
    section 4.1, equations 6 to 8.

    Readings: the text speaks of the drop of the penalized loss, equation 7 of L; here
    it is the batch's own loss, as in SI; otherwise the penalty's pull would count as
    importance. The score as a whole is cut off at 0, as in the text, by default, not
    the share of each interval, where noise would add up. With the Euclidean distance,
    one interval and epsilon = xi it is thus SI's score.
    """

    by_scores = True
    sums: ClassVar[Sequence[str]] = (*PathIntegralLearner.sums, *EwcOnline.sums, "_new")
    settings_class = RWalkSettings
    settings: RWalkSettings
    share = 1.0
    # 5 of EwcOnline, 1 of SI's path, and 4 at the end of an interval of ten steps.
    elementwise = 7

    score: Mapping[str, Tensor] = MappingProxyType({})

    def begin(self, task: Task) -> None:
        """Start the task's score, besides the path integral and the running Fisher."""
        super().begin(task)
        self._new = zeros_for(self.fisher)

    def after_step(self, model: nn.Module) -> None:
        """Add a step to the path integral, and close the interval if it is over."""
        super().after_step(model)
        if self._steps % self.settings.interval == 0:
            self._close_interval()

    def end(self, task: Task) -> None:
        """Average the task's score with that of earlier tasks, and make the penalty."""
        super().end(task)
        # The last interval may be shorter.
        self._close_interval()
        old = self.score
        new = {name: score.clamp(min=0) for name, score in self._new.items()}
        if old:
            new = {name: (old[name] + score) / 2 for name, score in new.items()}
        self.score = new
        self._penalize(detached(self._trained))

    def carried(self) -> Named:
        """Return Fisher, score and anchor, from which `take_over` makes the penalty."""
        if not self.penalty:
            return {}
        return by_kind(
            fisher=self.fisher,
            score=self.score,
            anchor=self.penalty.anchor,
        )

    def take_over(self, carried: Named) -> None:
        """Restore Fisher and score, and make the penalty."""
        if carried:
            self.fisher = of_kind(carried, "fisher")
            self.score = of_kind(carried, "score")
            self._penalize(of_kind(carried, "anchor"))

    def _penalize(self, anchor: Mapping[str, Tensor]) -> None:
        """Make the penalty around an anchor; its importance is normalized Fisher plus score."""
        score = normalized(self.score)
        fisher = normalized(self.fisher)
        importance = {name: fisher[name] + score[name] for name in fisher}
        self.penalty = Quadratic(importance, anchor)

    @torch.no_grad()
    def _close_interval(self) -> None:
        """Add each parameter's drop by its distance to its score, and start a new interval."""
        for name, drop in self.drop.items():
            distance = self.moved(name).square()
            if self.settings.distance == "fisher":
                # The KL divergence of the outputs, to second order.
                distance *= self.fisher[name] / 2
            score = drop / (distance + self.settings.epsilon)
            if self.settings.clipped == "interval":
                score = score.clamp(min=0)
            self._new[name] += score
            # The integral goes on from here, with no drop.
            self._start[name].copy_(self._before[name])
            drop.zero_()


def normalized(numbers: Mapping[str, Tensor]) -> Named:
    """Scale numbers v to [0, 1] by (v - least) / (largest - least), over all tensors together.

    If all numbers are equal, the result is 0.

    >>> normalized({"weight": torch.tensor([1.0, 3.0]), "bias": torch.tensor([5.0])})
    {'weight': tensor([0.0000, 0.5000]), 'bias': tensor([1.])}
    """
    least = torch.stack([values.min() for values in numbers.values()]).min()
    span = torch.stack([values.max() for values in numbers.values()]).max() - least
    return {
        name: torch.where(span > 0, (values - least) / span, 0.0)
        for name, values in numbers.items()
    }
