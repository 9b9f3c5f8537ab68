"""Notes on conditions under which a measurement is misleading."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import shorten

import torch
from torch import Tensor

from probe.batch import Named
from probe.cut.interface import CutFacts
from probe.metrics.task_predictions import TaskPredictions
from probe.modules import reals_in
from probe.tables.note_text import listed

RECORDED = "its recorded accuracy on task"
"""The beginning of the note on a network that does not predict what was recorded."""

_ROUNDING = 0.01  # of an accuracy
_LENGTH = 300  # characters of a reason, which may quote an error of the user's code


def of_cut(facts: CutFacts) -> list[str]:
    """Return the notes on a cut that do not depend on the data."""
    notes = []
    if facts.slow:
        reason = _short(facts.slow)
        notes.append(
            "the whole model is run for it, which is slower but equally exact: "
            f"{reason}"
        )
    if not facts.trained and not facts.is_output:
        notes.append(
            "nothing downstream of it is trained although it is not the output: its "
            "score is that of the model as it is, not of a retrained one"
        )
    if facts.around:
        notes.append(
            "the code of the modules around it stays in eval mode while the rest is "
            f"trained, as otherwise {_short(facts.around)}"
        )
    if facts.random_downstream:
        notes.append(
            "the model downstream of it is random in eval mode too: the score is that "
            "of one draw"
        )
    return notes


def _short(reason: str) -> str:
    """Return a reason as one line of text that a table can hold."""
    return shorten(reason.encode(errors="backslashreplace").decode(), _LENGTH)


def of_outputs(logits: Tensor) -> list[str]:
    """Return a note if the outputs (B, K), K > 1, are probabilities instead of logits.

    >>> of_outputs(torch.tensor([[0.25, 0.75]])) != [], of_outputs(torch.tensor([[0.25, 0.7]]))
    (True, [])
    """
    sums = logits.detach().float().sum(1) - 1
    if logits.shape[1] < 2 or logits.min() < 0 or sums.abs().max() > 0.01:
        return []
    return [
        "its outputs are probabilities: have it return logits, since training with "
        "cross-entropy takes their softmax once more"
    ]


def of_recorded(recorded: TaskPredictions, again: TaskPredictions) -> Iterator[str]:
    """Yield a note on each task whose recorded accuracy differs from the one measured now.

    The difference must exceed what another device or batch size can explain.
    Predictions are only compared if both are of the same tasks.

    Args:
        recorded: The predictions that were recorded.
        again: The predictions made now.

    Yields:
        The notes.
    """
    if recorded.tasks == again.tasks:
        accuracies = zip(
            recorded.accuracies(), again.accuracies(), again.test_sizes(), strict=True
        )
        for task, (before, now, size) in enumerate(accuracies, 1):
            # A single example on top, as a task may have few.
            if abs(now - before) > _ROUNDING + 1 / size:
                yield (
                    f"{RECORDED} {task} is {before:.1%}, and {now:.1%} measured "
                    "again: the network is random in eval mode too, or the data, its "
                    "code or its call are not those of the recording"
                )


@torch.no_grad()
def sums_of(parameters: Iterable[Tensor]) -> Tensor:
    """Return two sums over each of P parameters, (P, 2), for `of_unchanged` to compare with."""
    sums = []
    for value in parameters:
        wide = reals_in(value.detach()).double()
        sums.append(torch.stack([wide.sum(), wide.square().sum()]))
    if not sums:
        return torch.zeros(0, 2, device="cpu")
    return torch.stack(sums)


def of_unchanged(parameters: Named, before: Tensor) -> list[str]:
    """Return a note if the training of a tail has not moved some of its parameters.

    Args:
        parameters: The trained parameters by name.
        before: The result of `sums_of` before the training.
    """
    unmoved = torch.eq(before, sums_of(parameters.values())).all(1).tolist()
    # A bias before batch norm has a gradient too small to move it, and is as good as
    # trained.
    names = [
        name
        for (name, value), same in zip(parameters.items(), unmoved, strict=True)
        if same and (value.grad is None or not bool(value.grad.any()))
    ]
    if not names:
        return []
    return [
        f"its training left {listed(names)} as re-initialized: no gradient reaches "
        "them (no_grad, detach, or units that are never active)"
    ]


def of_predictions(predicted: Tensor, labels: Tensor) -> list[str]:
    """Return a note if all predictions are one class although the labels are not.

    Args:
        predicted: The predicted classes, (N,).
        labels: The labels, (N,).

    Returns:
        The note, if there is one.
    """
    if len(predicted.unique()) == 1 and len(labels.unique()) > 1:
        return [constant(int(predicted[0]))]
    return []


def constant(label: int) -> str:
    """Return the note on a model that predicts one class for every test example."""
    return f"it predicts class {label} for every test example"


def of_classes(tasks: Iterable[tuple[Tensor, Tensor]], classes: int) -> list[str]:
    """Return notes on the classes 0..K-1 that are missing in the training or test data.

    Args:
        tasks: The labels (N,) of the training and of the test examples of each task.
        classes: Number of classes K.

    Returns:
        The notes.
    """
    notes = []
    present = []
    for train_labels, test_labels in tasks:
        train = set(train_labels.unique().tolist())
        present.append((train, set(test_labels.unique().tolist())))
    trained, tested = (set.union(*half) for half in zip(*present, strict=True))
    if lacking := sorted(set(range(classes)) - trained):
        without = "training examples, and cannot be learned downstream of any feature"
        notes.append(f"{_have(lacking)} no {without}")
    if lacking := sorted(set(range(classes)) - tested):
        notes.append(f"{_have(lacking)} no test examples, and no score")
    for number, (train, test) in enumerate(present, 1):
        if lacking := sorted(test & trained - train):
            notes.append(
                f"{_have(lacking)} test examples in task {number}, but none to train on"
            )
    return notes


def _have(classes: Sequence[int]) -> str:
    """Return the beginning of a sentence on classes, such as `class 3 has`."""
    if len(classes) == 1:
        return f"class {classes[0]} has"
    return f"classes {listed(classes)} have"
