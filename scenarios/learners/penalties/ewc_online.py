"""EWC++: elastic weight consolidation with one running Fisher, taken in training."""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.extensions import learner
from probe.tasks import Task
from scenarios.learners.penalties.quadratic import PenalizedLearner, PenalizedSettings, Quadratic


class OnlineSettings(PenalizedSettings):
    """The settings of EWC++.

    Attributes:
        strength: lambda (Chaudhry 2018: 75000 on MNIST, 3e6 on CIFAR-100, 1.5e6 with samples).
        alpha: Weight of the newest batch in the running Fisher (the paper gives no value).
    """

    strength: float = Field(default=75_000.0, ge=0, allow_inf_nan=False)
    alpha: float = Field(default=0.01, gt=0, le=1)


@learner("ewc_online")
class EwcOnline(PenalizedLearner):
    """EWC++, elastic weight consolidation with one running Fisher (Chaudhry 2018).

    It minimizes L + (lambda / 2) sum_i F_i (theta_i - theta'_i)^2, with theta' the parameters and F
    the running Fisher at the end of the last task; nothing is normalized. Source: section 4.1,
    equations 5, 6 and 2; in the paper's tables it is called EWC.

    F <- alpha F_batch + (1 - alpha) F at every step (equation 6); F starts at 0 and continues from
    task to task. Without extra passes there is only the mean gradient g of the batch's B examples
    (replayed ones included, the penalty's gradient not), so F_batch = B g^2: at a minimum of the
    loss, where the mean gradient over the data vanishes, its expectation is the empirical Fisher
    for every B; elsewhere it is larger by (B - 1) times the square of that mean. The paper does not
    say how a batch gives its Fisher; g^2 by itself would be B times too small.

    Attributes:
        fisher: F by parameter name, of the parameter's shape.
    """

    by_scores = True
    settings_class = OnlineSettings
    settings: OnlineSettings
    share = 1 / 2
    # The penalty's gradient 2 (see Ewc); the Fisher: g^2, its weight, and the old one's weight.
    elementwise = 5
    fisher: Mapping[str, Tensor] = MappingProxyType({})
    _batch = 0

    def begin(self, task: Task) -> None:
        super().begin(task)
        trained = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        before = self.fisher or {n: torch.zeros_like(p) for n, p in trained.items()}
        # A copy: the Fisher of the penalty must not move.
        self.fisher = {n: fisher.clone() for n, fisher in before.items()}

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        # Replayed examples included.
        self._batch = len(y)
        return super().loss(model, x, y)

    @torch.no_grad()
    def after_backward(self, model: nn.Module) -> None:
        # Before the penalty's gradient is added.
        alpha = self.settings.alpha
        for name, p in model.named_parameters():
            if p.grad is not None and name in self.fisher:
                fisher = self.fisher[name].mul_(1 - alpha)
                fisher.addcmul_(p.grad, p.grad, value=alpha * self._batch)
        super().after_backward(model)

    def end(self, task: Task) -> None:
        super().end(task)
        self.penalty = Quadratic.around(self.model, self.fisher)

    def take_over(self, carried: dict[str, Tensor]) -> None:
        super().take_over(carried)
        # The penalty's importance is the Fisher itself, which continues from there.
        if self.penalty:
            self.fisher = self.penalty.importance
