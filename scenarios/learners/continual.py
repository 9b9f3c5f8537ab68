"""Fine-tuning and experience replay, and the base of learners with exemplars.

A setting names the classes that the loss is over.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Named
from probe.by_layer.head_predictions import tasks_by_class
from probe.examples import Examples, join
from probe.extensions import learner
from probe.metrics.task_predictions import TaskClasses
from probe.tasks import Task
from probe.training.costs import bytes_of
from probe.training.evaluation import barred_but
from probe.validation import PositiveInt
from scenarios.learners import base
from scenarios.learners.exemplars import Exemplars, ExemplarSettings


class ContinualSettings(base.Settings):
    """The settings that all continual learners share.

    Attributes:
        loss_classes: The outputs in the training's cross-entropy: `all`; those of the
            classes `seen` so far, including the present task's; or those of the `task`
            of each example, as in a multi-head network (Chaudhry 2018, section 2.1).
        exemplars: The examples of earlier tasks that are stored and replayed (the "-S"
            variants of Chaudhry 2018).
    """

    loss_classes: Literal["all", "seen", "task"] = "all"
    exemplars: ExemplarSettings | None = None

    @property
    def budget(self) -> ExemplarSettings | None:
        """The exemplars of the settings."""
        return self.exemplars


class ClassMemorySettings(ContinualSettings):
    """The settings of a learner that stores the same number of examples of each class.

    Attributes:
        memory_per_class: The number of examples of each class of each task, in place of
            `exemplars` (Murata 2020: 128 on MNIST and SVHN).
    """

    exemplars: None = None
    memory_per_class: PositiveInt = 128

    @property
    def budget(self) -> ExemplarSettings:
        """The memory of each class, as a budget of exemplars."""
        return ExemplarSettings(per_class=self.memory_per_class)


@learner("finetune")
class ContinualLearner(base.Learner):
    """Fine-tuning (FT, naive): plain training on each task in turn; Chaudhry 2018's Vanilla.

    With exemplars it is their Vanilla-S. Other continual learners override its steps,
    and `carried` and `take_over` for what they carry from task to task besides the
    model. `classification` is the loss of the batch, replayed examples included.

    Attributes:
        replays: Whether this class stores and replays the exemplars of the settings'
            budget.
    """

    settings_class: ClassVar[type[base.Settings]] = ContinualSettings
    by_scores = True
    first_task = "cross-entropy"
    replays = True
    settings: ContinualSettings
    # The classes of each task begun.
    _tasks: TaskClasses = ()

    @cached_property
    def exemplars(self) -> Exemplars | None:
        """The exemplars of earlier tasks, None for a learner that stores none."""
        budget = self.settings.budget
        if budget is None or not self.replays:
            return None
        return Exemplars(budget)

    @property
    def stored(self) -> Examples | None:
        """The M stored samples of earlier tasks, None if there are none."""
        return self.exemplars.examples if self.exemplars else None

    def begin(self, task: Task) -> None:
        """Prepare the replay of stored samples, and note the task's classes."""
        self._stored = self.stored
        budget = self.settings.budget
        self._joined = budget is not None and budget.replay == "joined"
        if self._stored is not None:
            self._orders = _orders_of(self._stored, self.stream("replay"))
        self._tasks += (task.classes,)
        self._barred: Tensor | None = None

    def examples(self, task: Task) -> Examples:
        """Return the task's examples, joined with the stored ones if they are replayed so."""
        if self._stored is None or not self._joined:
            return task.train
        return join([self._stored, task.train])

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Append as many stored samples to a batch as it has, unless they are joined already."""
        if self._stored is None or self._joined:
            return x, y
        # Without repeats; all, where there are fewer than new examples.
        old = self._stored.take(next(self._orders)[: len(y)])
        return torch.cat([x, old.x]), torch.cat([y, old.y])

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of a batch (B, ...) with labels (B,)."""
        return self.classification(model(x), y)

    def validation_loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of a batch of validation examples."""
        return self.classification(model(x), y)

    def classification(self, scores: Tensor, y: Tensor) -> Tensor:
        """Return the scalar mean cross-entropy over the `loss_classes`.

        Args:
            scores: The scores, (B, K).
            y: The labels, (B,).

        Returns:
            The loss.
        """
        if self.settings.loss_classes != "all":
            # A table (K, K), true for the outputs that do not compete for a label; made
            # at the first batch of a task, where the number of outputs is known.
            if self._barred is None:
                K = scores.shape[1]
                seen_classes: Sequence[int] = sum(self._tasks, ())
                classes_in_loss = [seen_classes] * K
                if self.settings.loss_classes == "task":
                    classes_in_loss = tasks_by_class(self._tasks, K)
                self._barred = barred_but(classes_in_loss, K, scores.device)
            scores = scores.masked_fill(self._barred[y], -torch.inf)
        weight = None
        budget = self.settings.budget
        # A single example, as where a Fisher is taken, weighs 1.
        if budget and budget.balanced and self._stored and len(y) > 1:
            # torch divides by the sum of the weights: so the loss is the mean of the
            # classes' means. `bincount` would wait for a GPU.
            counts = y.new_zeros(scores.shape[1]).scatter_add_(0, y, torch.ones_like(y))
            weight = counts.clamp(min=1).reciprocal().to(scores.dtype)
        return functional.cross_entropy(scores, y, weight=weight)

    def end(self, task: Task) -> None:
        """Choose and store exemplars of the task, if any are stored."""
        if self.exemplars:
            self.exemplars.add(self.model, task, self.stream("memory"))

    def stored_bytes(self) -> int:
        """Return the size of inputs and labels of the exemplars, in bytes."""
        return bytes_of(
            x for name, x in self.state().items() if name in ("memory.x", "memory.y")
        )

    def take_over(self, carried: Named) -> None:
        """Restore the state that `carried` returned; it is empty before the first task."""

    def state(self) -> Named:
        """Return what is carried from task to task, and the exemplars."""
        if not self.exemplars:
            return self.carried()
        return self.carried() | self.exemplars.state()

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        """Restore the classes seen, the exemplars, and what is carried."""
        super().restore(state, past)
        self._tasks = tuple(task.classes for task in past)
        if self.exemplars:
            self.exemplars.restore(state, past)
        # Without the exemplars, which have restored themselves.
        self.take_over({k: v for k, v in state.items() if not k.startswith("memory.")})


@learner("er")
class ExperienceReplay(ContinualLearner):
    """Experience replay, or naive rehearsal (Murata 2020, after Hsu et al. 2018).

    Each batch is learned together with a batch of equal size from the memory. After
    each task, random examples of each of its classes enter the memory for good. The
    replayed batch has no repeats, is smaller while the memory is smaller, and its
    examples weigh as much as new ones. This is fine-tuning with uniform exemplars.
    Neither paper gives the size of the replayed batch.
    """

    settings_class = ClassMemorySettings
    by_scores = True
    first_task = "cross-entropy"


_AHEAD = 64  # random orders drawn at a time
_MOST = 2**20  # and the most numbers in them


def _orders_of(stored: Examples, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield random orders (M,) of the stored examples, on their device, endlessly."""
    n = len(stored)
    device = stored.y.device
    # The CPU draws, so that every device gets the same orders. A GPU gets many orders at
    # a time, so that neither waits for the other.
    ahead = 1
    if device.type != "cpu":
        ahead = max(1, min(_AHEAD, _MOST // n))
    while True:
        drawn = [torch.randperm(n, generator=generator) for _ in range(ahead)]
        yield from torch.stack(drawn).to(device, non_blocking=True)
