"""Learners whose teacher is the model before the task: LwF and iCaRL."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Named
from probe.extensions import learner
from probe.modules import copied
from probe.tasks import Task
from probe.training.evaluation import in_batches, penultimate, penultimate_of
from probe.validation import FromZero, PositiveFloat
from scenarios.learners.continual import ContinualLearner, ContinualSettings
from scenarios.learners.exemplars import ExemplarSettings, ReplayMode, Strategy


class DistillingLearner(ContinualLearner):
    """A learner whose teacher is the old model: a copy in eval mode, made when a task begins."""

    _old: nn.Module | None = None

    def begin(self, task: Task) -> None:
        """Prepare for a task; from the second task on, copy the model as the teacher."""
        super().begin(task)
        if self.seen:
            self._old = copied(self.model).requires_grad_(False).eval()

    @torch.no_grad()
    def old_scores(self, x: Tensor) -> Tensor | None:
        """Return the old model's scores (B, K) for a batch, None if there is no old model."""
        # A copy: a model may write into its input.
        return None if self._old is None else self._old(x.clone())

    def end(self, task: Task) -> None:
        """Store what later tasks need, and drop the teacher."""
        super().end(task)
        # The next task copies the model anew, so that a checkpoint needs no copy.
        self._old = None


class LwfSettings(ContinualSettings):
    """The settings of learning without forgetting.

    Attributes:
        strength: The weight of the distillation; 0 is fine-tuning (Murata 2020: 1.0).
        temperature: The temperature T, which divides scores before they are compared
            (Li and Hoiem 2016: 2).
    """

    strength: FromZero = 1.0
    temperature: PositiveFloat = 2.0


@learner("lwf")
class LearningWithoutForgetting(DistillingLearner):
    """Learning without forgetting (Li and Hoiem 2016).

    It minimizes L + strength x T^2 KL(p', p), with p' and p the old and the new model's
    softmax(scores / T) over the classes seen before the task; with loss_classes =
    "task", there is one term for the classes of each earlier task. The mean is over the
    whole batch, replayed exemplars included. The first task is fine-tuning.

    Deviations: KL in place of the cross-entropy, from which it differs by a constant;
    the factor T^2 of Hinton et al. 2015, which makes the size of the gradient
    independent of T; exemplars, if asked for; the old model runs beside the new one,
    while the paper records its outputs once, with the same result; no warm-up of only
    the new outputs; weight decay only by the recipe.
    """

    settings_class = LwfSettings
    by_scores = True
    first_task = "cross-entropy"
    settings: LwfSettings

    def begin(self, task: Task) -> None:
        """Prepare for a task, with the classes of each term of the distillation."""
        # The classes of each term of the loss, read before this task is among them.
        groups = [self.seen]
        if self.settings.loss_classes == "task":
            groups = list(dict.fromkeys(self._tasks))
        super().begin(task)
        if not self.settings.strength:
            self._old = None  # a teacher that counts for nothing is not asked
        device = task.train.y.device
        self._groups = [torch.tensor(group, device=device) for group in groups]

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy plus, if there is a teacher, strength x the distillation."""
        old = self.old_scores(x)
        scores: Tensor = model(x)
        loss = self.classification(scores, y)
        if old is None:
            return loss
        temperature = self.settings.temperature
        distilled = sum(
            softened_kl(old[:, group], scores[:, group], temperature)
            for group in self._groups
        )
        return loss + self.settings.strength * distilled


def softened_kl(old: Tensor, new: Tensor, temperature: float) -> Tensor:
    """Return T^2 KL(softmax(old / T), softmax(new / T)), the mean over a batch.

    Args:
        old: The scores of the old model, (B, C).
        new: The scores of the new model, (B, C).
        temperature: The temperature, T.

    Returns:
        The loss, a scalar.

    >>> float(softened_kl(torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 5.0]]), 2.0))
    0.0
    """
    targets = functional.log_softmax(old / temperature, 1)
    outputs = functional.log_softmax(new / temperature, 1)
    # By logarithms, so that a probability of 0 gives 0, not NaN.
    divergence = functional.kl_div(
        outputs,
        targets,
        reduction="batchmean",
        log_target=True,
    )
    return temperature**2 * divergence


class HerdedSettings(ExemplarSettings):
    """The settings of iCaRL's exemplars; its loss has no class weights."""

    sampling: Strategy = "mean_of_features"
    replay: ReplayMode = "joined"
    balanced: Literal[False] = False


class HerdingSettings(ContinualSettings):
    """The settings of iCaRL.

    Attributes:
        exemplars: The exemplars, by default those of Rebuffi et al. 2017 on CIFAR-100,
            2000 in total.
        loss_classes: The classes in the loss; only `seen`, as sigmoids do not compete
            and classes not yet seen are left out.
    """

    loss_classes: Literal["seen"] = "seen"
    exemplars: HerdedSettings = HerdedSettings(total=2000)


@learner("icarl_hybrid1")
class IcarlHybrid1(DistillingLearner):
    """Hybrid1: iCaRL's training, the network's outputs as classifier (Rebuffi et al. 2017).

    Every output is a sigmoid. The loss is the binary cross-entropy, summed over the
    classes seen so far. The targets are the labels, 1 or 0, for the classes of the
    task, and the old model's outputs for earlier classes. The training data are the
    task's and the exemplars.

    Source: algorithm 3. Deviations: the loss is a mean over the batch, not a sum over
    the data; the network has the outputs of later classes from the start, and the loss
    leaves them out; the old model runs beside the new one, which gives the same outputs
    as recording them once; images are not mirrored. A class that occurs again counts as
    a class of the task.
    """

    settings_class = HerdingSettings
    by_scores = True
    first_task = "binary cross-entropy"

    def begin(self, task: Task) -> None:
        """Prepare for a task, with the classes learned from the teacher and from labels."""
        super().begin(task)
        device = task.train.y.device
        # A class met again learns from its labels, not from the old model.
        earlier = [c for c in self.seen if c not in task.classes]
        self._earlier = torch.tensor(
            earlier,
            dtype=torch.int64,
            device=device,
        )
        self._present = torch.tensor(task.classes, device=device)

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the binary cross-entropy to labels and, for earlier classes, to the teacher."""
        old = self.old_scores(x)
        scores: Tensor = model(x)
        loss = _binary(scores[:, self._present], y[:, None] == self._present)
        if old is None:
            return loss
        return loss + _binary(scores[:, self._earlier], old[:, self._earlier].sigmoid())


@learner("icarl")
class Icarl(IcarlHybrid1):
    """iCaRL, with the nearest mean of exemplars as classifier (Rebuffi et al. 2017).

    It is trained as `IcarlHybrid1`. The mean of a class is the mean of phi(x) over its
    exemplars, with every phi(x) and the mean scaled to length 1 (for phi see
    `penultimate`); means are recomputed after every task. Before the first task the
    network's outputs classify. Source: algorithm 1.
    """

    by_scores = True
    first_task = "binary cross-entropy"
    _means: Tensor | None = None

    def scores(self, x: Tensor) -> Tensor:
        """Return the negative distances from the means, (B, K); -inf for a class without exemplars.

        If there are no exemplars at all, return the network's scores.
        """
        if self._means is None:
            return super().scores(x)
        phi = functional.normalize(penultimate(self.model, x), dim=1)
        # A matrix product would round small distances away.
        exact = "donot_use_mm_for_euclid_dist"
        return -torch.cdist(phi, self._means, compute_mode=exact)

    def end(self, task: Task) -> None:
        """Store exemplars, and recompute the means of all classes."""
        super().end(task)
        self._update_means()

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        super().restore(state, past)
        # The caller has restored the model.
        self._update_means()

    def _update_means(self) -> None:
        """Compute the means (K, D) of the exemplars by class, infinite for classes without any."""
        self._means = None
        exemplars = self.stored
        if exemplars is None:
            return
        phi = functional.normalize(penultimate_of(self.model, exemplars), dim=1)
        one_exemplar = exemplars.take(torch.zeros_like(exemplars.y[:1]))
        # From the shape of the scores.
        n_classes = in_batches(self.model, self.model, one_exemplar).shape[1]
        self._means = phi.new_full((n_classes, phi.shape[1]), torch.inf)
        for label in exemplars.y.unique().tolist():
            mean = phi[exemplars.y == label].mean(0)
            self._means[label] = functional.normalize(mean, dim=0)


def _binary(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy (B, C), summed over outputs and averaged over the batch."""
    loss = functional.binary_cross_entropy_with_logits
    return loss(scores, targets.to(scores.dtype), reduction="sum") / len(scores)
