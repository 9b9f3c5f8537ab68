"""iCaRL: distillation, herded exemplars, and classification by the nearest mean of exemplars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.tasks import Task
from probe.training.penultimate import in_batches, penultimate, penultimate_of
from probe.training.recipe import Recipe
from scenarios.learners import base
from scenarios.learners.catalog import learner
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.distillation.teacher import DistillingLearner
from scenarios.learners.exemplars import ExemplarSettings, Replay
from scenarios.learners.sampling import Strategy


class HerdedSettings(ExemplarSettings):
    """Exemplars as in iCaRL, unless said otherwise; its loss knows no weights of classes."""

    sampling: Strategy = "mean_of_features"
    replay: Replay = "joined"
    balanced: Literal[False] = False


class HerdingSettings(ContinualSettings):
    """What both forms of iCaRL can be given.

    exemplars: the default is Rebuffi et al. 2017's on CIFAR-100, 2000 in total.

    competing: has one value, as no outputs compete in a loss of sigmoids; those of classes not yet
    seen are left out of it.
    """

    competing: Literal["seen"] = "seen"
    exemplars: HerdedSettings = HerdedSettings(total=2000)


class IcarlSettings(HerdingSettings):
    """Those of `HerdingSettings`."""

    kind: Literal["icarl"] = "icarl"


class IcarlHybrid1Settings(HerdingSettings):
    """Those of `HerdingSettings`."""

    kind: Literal["icarl_hybrid1"] = "icarl_hybrid1"


@learner("icarl_hybrid1")
class IcarlHybrid1(DistillingLearner):
    """Train as iCaRL does, but classify by the network's own outputs (hybrid1).

    Every output is a sigmoid of its own. Minimize the binary cross-entropy of the outputs of all
    classes seen so far, summed over them: its targets are 1 or 0 for the classes of the task, by
    the example's label, and for earlier classes the old model's outputs, whatever the label. The
    data are the task's, joined by the exemplars.

    Source: Rebuffi et al. 2017, algorithm 3; hybrid1 is theirs too. Deviations: the mean over the
    batch in place of a sum over the data; the network has the outputs of later classes from the
    start, and the loss leaves them out; the old model runs beside the new one, where the paper
    records its outputs once, which gives the same; images are not mirrored. A class met again is
    one of the task, not an earlier one.
    """

    settings_class: ClassVar[type[base.Settings]] = IcarlHybrid1Settings

    def begin(self, task: Task) -> None:
        super().begin(task)
        device = task.train.y.device
        # A class met again is taught by its labels, not by what the old model says of it.
        earlier = [c for c in self.seen if c not in task.classes]
        self._earlier = torch.tensor(earlier, dtype=torch.int64, device=device)
        self._present = torch.tensor(task.classes, device=device)

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        old = self.old_scores(x)
        scores: Tensor = model(x)
        loss = _binary(scores[:, self._present], y[:, None] == self._present)
        if old is None:
            return loss
        return loss + _binary(scores[:, self._earlier], old[:, self._earlier].sigmoid())


@learner("icarl")
class Icarl(IcarlHybrid1):
    """Train as `IcarlHybrid1`; classify by the nearest mean of exemplars.

    A class's mean is that of phi(x) of its exemplars; every phi(x) and the mean are scaled to
    length 1 (for phi see `penultimate`). The class whose mean is nearest wins. The means
    follow the network: they are taken anew after every task. Before the first one the network's own
    outputs classify. Source: Rebuffi et al. 2017, algorithm 1.
    """

    settings_class = IcarlSettings

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: base.Settings, seed: int
    ) -> None:
        super().__init__(model, recipe, settings, seed)
        self._means: Tensor | None = None

    def scores(self, x: Tensor) -> Tensor:
        """Return minus the distances from the means (B, K), -inf for classes without exemplars."""
        if self._means is None:
            return super().scores(x)
        phi = functional.normalize(penultimate(self.model, x), dim=1)
        # Not by a matrix product, which rounds small distances away.
        return -torch.cdist(phi, self._means, compute_mode="donot_use_mm_for_euclid_dist")

    def end(self, task: Task) -> None:
        super().end(task)
        self._see_means()

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        # The caller has restored the model, from which they follow.
        self._see_means()

    def _see_means(self) -> None:
        """Take the means (K, D) of the exemplars by class, infinitely far where there are none."""
        if self.stored is None:
            self._means = None
            return
        kept = self.stored
        phi = functional.normalize(penultimate_of(self.model, kept), dim=1)
        classes = in_batches(self.model, self.model, kept.take(torch.zeros_like(kept.y[:1]))).shape[
            1
        ]
        # Infinitely far: a class without exemplars is never the nearest.
        self._means = phi.new_full((classes, phi.shape[1]), torch.inf)
        for label in kept.y.unique().tolist():
            self._means[label] = functional.normalize(phi[kept.y == label].mean(0), dim=0)


def _binary(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy (B, C), summed over outputs, the mean over the batch."""
    targets = targets.to(scores.dtype)
    total = functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
    return total / len(scores)
