"""Heads: the outputs that compete when a trained network is evaluated."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from probe.batch import Named, Value
from probe.by_layer.report import Head
from probe.examples import Examples
from probe.immutable import immutable
from probe.tasks import Scenario
from probe.training.evaluation import (
    ByHead,
    Logits,
    barred_but,
    predict_each,
    predict_variants,
)


@immutable(eq=False)
class Heads:
    """The test examples of a network, and the outputs that compete under each head.

    Source: Chaudhry 2018, section 2.1.

    Attributes:
        scenario: The tasks as the learner sees them, perhaps with tasks not yet
            learned.
        classes_seen: The classes learned so far; if there are none, all outputs compete
            under the head `single`.
        task_aware: Whether the learner receives the task id; then `multi` is the only
            head.
        position: The position of the task whose data are tested, None for all tasks.
    """

    scenario: Scenario
    classes_seen: Sequence[int]
    task_aware: bool = False
    position: int | None = None

    @property
    def main(self) -> Head:
        """The head under which the network is trained."""
        return "multi" if self.task_aware else "single"

    @cached_property
    def tested(self) -> Examples:
        """The examples that are tested."""
        if self.position is None:
            return self.scenario.test
        return self.scenario.tasks[self.position - 1].test

    def predict(
        self, logits: Logits, any_layout: bool | None = None, check: bool = False
    ) -> ByHead:
        """Predict the classes of the test data under every head in one pass.

        Args:
            logits: Function that maps a batch (B, ...) to (B, K).
            any_layout: See `probe.training.evaluation.predict_each`.
            check: See the same.

        Returns:
            The predictions (N,) by head, and the loss of each example under the main
            head, (N,) float32 in nats; K and NaN for examples that are not tested.
        """
        predicted = predict_each(
            logits,
            self.tested,
            self.scenario.classes,
            self._barred,
            rows=self._task_of_example[self._is_tested],
            loss_of=self.main,
            any_layout=any_layout,
            check=check,
        )
        return self._among_all(*predicted)

    def predict_variants(
        self, logits: Callable[[Value], Iterable[Tensor]], any_layout: bool
    ) -> list[ByHead]:
        """Predict by several variants of a network, batch by batch; see `predict`.

        Args:
            logits: Function that maps a batch (B, ...) to the logits (B, K) of each
                variant.
            any_layout: See `probe.training.evaluation.predict_each`.
        """
        variants = predict_variants(
            lambda indices, x: logits(x),
            self.tested,
            self.scenario.classes,
            self._barred,
            None,
            self._task_of_example[self._is_tested],
            self.main,
            any_layout=any_layout,
        )
        return [self._among_all(*predicted) for predicted in variants]

    @cached_property
    def _barred(self) -> dict[str, Tensor | None]:
        """The outputs that do not compete for examples of each task, (T, K), by head."""
        classes = self.scenario.classes
        device = self.scenario.test.y.device
        tasks = [task.classes for task in self.scenario.tasks]
        barred: dict[str, Tensor | None] = {"multi": barred_but(tasks, classes, device)}
        if not self.task_aware:
            seen = [self.classes_seen or range(classes)] * len(tasks)
            barred = {
                "single": barred_but(seen, classes, device),
                **barred,
                "all": None,
            }
        return barred

    @cached_property
    def _task_of_example(self) -> Tensor:
        device = self.scenario.test.y.device
        sizes = [len(task.test) for task in self.scenario.tasks]
        numbers = torch.arange(len(sizes), device=device)
        return numbers.repeat_interleave(torch.tensor(sizes, device=device))

    @cached_property
    def _is_tested(self) -> Tensor:
        if self.position is None:
            return torch.ones_like(self._task_of_example, dtype=torch.bool)
        return self._task_of_example == self.position - 1

    def _among_all(self, predicted: Named, losses: Tensor) -> ByHead:
        """Put predictions and losses of the tested examples at their rows among all, (N,)."""
        classes = self.scenario.classes
        by_head = {
            head: _among_all(classes_of, self._is_tested, classes)
            for head, classes_of in predicted.items()
        }
        return by_head, _among_all(losses, self._is_tested, torch.nan)


def _among_all(values: Tensor, is_tested: Tensor, missing: float) -> Tensor:
    """Put the values of the tested examples at their rows among all, (N,)."""
    rows = torch.full_like(is_tested, missing, dtype=values.dtype)
    return rows.masked_scatter(is_tested, values)


def tasks_by_class(tasks: Sequence[Sequence[int]], classes: int) -> list[Sequence[int]]:
    """Return the task of each of the K classes, as all of its classes; () for a class in no task.

    Args:
        tasks: The classes of each task; a class of several tasks belongs to the last of
            them.
        classes: Number of classes K.

    >>> tasks_by_class([[0, 1], [2]], classes=4)
    [[0, 1], [0, 1], [2], ()]
    """
    classes_of_task: list[Sequence[int]] = [()] * classes
    for task in tasks:
        for label in task:
            classes_of_task[label] = task
    return classes_of_task
