"""Heads: the outputs that compete when a trained network is evaluated."""

from collections.abc import Sequence

import torch
from torch import Tensor

from probe.tasks import Scenario
from probe.training.evaluation import Logits, barred_but, predict_each


def predictions_by_head(
    logits: Logits,
    scenario: Scenario,
    classes_seen: Sequence[int],
    *,
    task_aware: bool = False,
    position: int | None = None,
    any_layout: bool | None = None,
    check: bool = False,
) -> tuple[dict[str, Tensor], Tensor]:
    """Predict the classes of the test data under every head in one pass.

    Source: Chaudhry 2018, section 2.1.

    Args:
        logits: Function that maps a batch (B, ...) to (B, K).
        scenario: The tasks as the learner sees them, perhaps with tasks not yet
            learned.
        classes_seen: The classes learned so far; if there are none, all outputs compete
            under the head `single`.
        task_aware: Whether the learner receives the task id; then `multi` is the only
            head.
        position: The position of the task whose data are tested, None for all tasks.
        any_layout: See `probe.training.evaluation.predict_each`.
        check: See the same.

    Returns:
        The predictions (N,) by head, and the loss of each example under the main head,
        (N,) float32 in nats; K and NaN for examples that are not tested.
    """
    tested = scenario.test
    classes = scenario.classes
    device = tested.y.device
    tasks = [task.classes for task in scenario.tasks]
    # Which outputs do not compete, for examples of each task, (T, K).
    barred: dict[str, Tensor | None] = {"multi": barred_but(tasks, classes, device)}
    if not task_aware:
        seen = [classes_seen or range(classes)] * len(tasks)
        barred = {"single": barred_but(seen, classes, device), **barred, "all": None}
    sizes = torch.tensor([len(task.test) for task in scenario.tasks], device=device)
    task_of_example = torch.arange(len(tasks), device=device).repeat_interleave(sizes)
    is_tested = torch.ones_like(task_of_example, dtype=torch.bool)
    if position is not None:
        tested = scenario.tasks[position - 1].test
        is_tested = task_of_example == position - 1
    predicted_by_head, losses = predict_each(
        logits,
        tested,
        classes,
        barred,
        rows=task_of_example[is_tested],
        loss_of="multi" if task_aware else "single",
        any_layout=any_layout,
        check=check,
    )
    predicted_by_head = {
        head: _among_all(predicted, is_tested, classes)
        for head, predicted in predicted_by_head.items()
    }
    return predicted_by_head, _among_all(losses, is_tested, torch.nan)


def _among_all(values: Tensor, is_tested: Tensor, missing: float) -> Tensor:
    """Put the values of the tested examples at their rows among all, (N,)."""
    rows = torch.full_like(is_tested, missing, dtype=values.dtype)
    return rows.masked_scatter(is_tested, values)


def own_task(tasks: Sequence[Sequence[int]], classes: int) -> list[Sequence[int]]:
    """Return for each of the K classes all classes of its task; none for a class in no task.

    Args:
        tasks: The classes of each task; a class of several tasks belongs to the last of
            them.
        classes: Number of classes K.

    >>> own_task([[0, 1], [2]], classes=4)
    [[0, 1], [0, 1], [2], ()]
    """
    classes_of_task: list[Sequence[int]] = [()] * classes
    for task in tasks:
        for label in task:
            classes_of_task[label] = task
    return classes_of_task
