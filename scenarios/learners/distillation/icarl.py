"""iCaRL: distillation, herded exemplars, and the nearest mean of exemplars as classifier."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.extensions import learner
from probe.tasks import Task
from probe.training.penultimate import in_batches, penultimate, penultimate_of
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.distillation.lwf import DistillingLearner
from scenarios.learners.exemplars import ExemplarSettings, ReplayMode
from scenarios.learners.sampling import Strategy


class HerdedSettings(ExemplarSettings):
    """Exemplars by default as in iCaRL; its loss has no weights of classes."""

    sampling: Strategy = "mean_of_features"
    replay: ReplayMode = "joined"
    balanced: Literal[False] = False


class HerdingSettings(ContinualSettings):
    """exemplars: by default Rebuffi et al. 2017's on CIFAR-100, 2000 in total. competing: has one
    value, as outputs do not compete in a loss of sigmoids; it lacks classes not yet seen.
    """

    competing: Literal["seen"] = "seen"
    exemplars: HerdedSettings = HerdedSettings(total=2000)


@learner("icarl_hybrid1")
class IcarlHybrid1(DistillingLearner):
    """Hybrid1: iCaRL's training, the network's outputs as classifier (Rebuffi et al. 2017).

    Every output is a sigmoid. It minimizes the binary cross-entropy, summed over the classes seen
    so far: the targets are the label's, 1 or 0, for the classes of the task, and the old model's
    outputs for earlier classes. The data are the task's, joined by the exemplars.

    Source: algorithm 3. Deviations: the mean over the batch in place of a sum over the data; the
    network has the outputs of later classes from the start, and the loss leaves them out; the old
    model runs beside the new one, where the paper records its outputs once, which gives the same;
    images are not mirrored. A class met again is one of the task, not an earlier one.
    """

    settings_class = HerdingSettings
    by_scores = True
    first_task = "binary cross-entropy"

    def begin(self, task: Task) -> None:
        super().begin(task)
        device = task.train.y.device
        # A class met again learns from its labels, not from the old model.
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
    """iCaRL, with the nearest mean of exemplars as classifier (Rebuffi et al. 2017).

    Trained as `IcarlHybrid1`. A class's mean is that of phi(x) over its exemplars, every phi(x) and
    the mean scaled to length 1 (for phi see `penultimate`); means are computed anew after every
    task. Before the first task the network's outputs classify. Source: algorithm 1.
    """

    by_scores = True
    first_task = "binary cross-entropy"
    _means: Tensor | None = None

    def scores(self, x: Tensor) -> Tensor:
        """Return the negative distances from the means (B, K), -inf without exemplars."""
        if self._means is None:
            return super().scores(x)
        phi = functional.normalize(penultimate(self.model, x), dim=1)
        # A matrix product would round small distances away.
        return -torch.cdist(phi, self._means, compute_mode="donot_use_mm_for_euclid_dist")

    def end(self, task: Task) -> None:
        super().end(task)
        self._see_means()

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        super().restore(state, past)
        # The caller has restored the model.
        self._see_means()

    def _see_means(self) -> None:
        """Compute the means (K, D) of the exemplars by class, infinite where there are none."""
        if self.stored is None:
            self._means = None
            return
        kept = self.stored
        phi = functional.normalize(penultimate_of(self.model, kept), dim=1)
        first = kept.take(torch.zeros_like(kept.y[:1]))
        classes = in_batches(self.model, self.model, first).shape[1]
        self._means = phi.new_full((classes, phi.shape[1]), torch.inf)
        for label in kept.y.unique().tolist():
            self._means[label] = functional.normalize(phi[kept.y == label].mean(0), dim=0)


def _binary(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy (B, C), summed over outputs, the mean over the batch."""
    targets = targets.to(scores.dtype)
    total = functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
    return total / len(scores)
