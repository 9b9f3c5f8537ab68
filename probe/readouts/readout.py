"""The readouts by name, with their settings.

A readout is one class: its fields are settings, `predict` fits and predicts, and the decorator
`readout` names it. The classes above `READOUTS` are known everywhere: in a study's
`[probing.readouts]`, to `probe model --readouts` and to `probe.analyze`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import torch
from pydantic import Field, Strict
from torch import Tensor

from probe.batch import pieces
from probe.errors import InputError
from probe.extensions import ReadoutEntry, marked_in, marks_of, readout
from probe.readouts.linear import fit_linear
from probe.readouts.matrix import FeatureMatrix
from probe.readouts.pooling import WIDE, Pooling
from probe.readouts.standardized import Standardization
from probe.tasks import Task
from probe.training.precision import products

_ROWS, _COLUMNS = 512, 8192  # of the table of distances that is in memory at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Read:
    """Predicted classes of M test examples, (M,) int64 on the CPU, and notes on the fit."""

    predicted: Tensor
    notes: tuple[str, ...] = ()


class Readout(Protocol):
    """A classifier that is fitted to a feature; its fields are settings."""

    def predict(self, x: Tensor, y: Tensor, test: Tensor, classes: int) -> Tensor | Read:
        """Fit to x (N, D) with labels y (N,), and predict the classes (M,) of test (M, D).

        x, test: float32, not standardised; y: int64, below `classes`, all on one device. Return
        class numbers int64, or `Read` where there are notes.
        """


@readout("linear")
class Linear:
    """Multinomial logistic regression to convergence on the standardized feature.

    C: the weight of the examples against the penalty, as in scikit-learn; pool, width, channels:
    see `probe.readouts.pooling.Pooling`.
    """

    C: Annotated[float, Strict(), Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    pool: Literal["bins", "mean", "projection"] = "bins"
    width: Annotated[int, Strict(), Field(ge=1, le=100_000)] = WIDE
    channels: Literal["first", "last"] | None = None

    @property
    def pooling(self) -> Pooling:
        """The rule for wide features."""
        return Pooling(pool=self.pool, width=self.width, channels=self.channels)

    def predict(self, x: Tensor, y: Tensor, test: Tensor, classes: int) -> Read:
        """Fit the logistic regression, and predict."""
        model = fit_linear(x, y, classes, self.C)
        return Read(predicted=model.predict(test), notes=model.notes)


@readout("linear-task", task_aware=True)
class LinearTask(Linear):
    """`linear` for each task: fitted to its training examples, it tells its classes apart alone.

    Source: the linear probes of Davari et al., CVPR 2022.
    """


@readout("ncm")
class Ncm:
    """The nearest class mean of the standardized feature (Rebuffi et al., CVPR 2017).

    A class without examples is never predicted; of equally near ones the lowest is.

    >>> x, y = torch.tensor([[0.0], [2.0], [9.0]]), torch.tensor([0, 0, 2])
    >>> Ncm().predict(x, y, torch.tensor([[1.0], [7.0]]), 3).tolist()
    [0, 2]
    """

    def predict(self, x: Tensor, y: Tensor, test: Tensor, classes: int) -> Tensor:
        """Take the mean of each class, and predict."""
        standard = Standardization.of(x)
        sums = torch.zeros(classes, x.shape[1], dtype=torch.float64, device=x.device)
        for part, labels in zip(x.split(_COLUMNS), y.split(_COLUMNS), strict=True):
            sums.index_add_(0, labels, standard(part).double())
        counts = torch.bincount(y, minlength=classes)
        means = sums / counts.clamp(min=1)[:, None]
        # The squared distance without what all classes share, in float64 as the means are few.
        offset = (means.square().sum(1) / 2).masked_fill(counts == 0, torch.inf)
        parts = (standard(part).double() for part in test.split(_COLUMNS))
        return torch.cat([(part @ means.T - offset).argmax(1) for part in parts])


@readout("knn")
class Knn:
    """The majority of the k nearest training examples in the standardized feature.

    Each neighbour has one vote; of classes with as many the lowest is taken.

    >>> x, y = torch.tensor([[0.0], [1.0], [9.0], [8.0]]), torch.tensor([0, 0, 1, 1])
    >>> Knn(k=3).predict(x, y, torch.tensor([[2.0], [7.0]]), 2).tolist()
    [0, 1]
    """

    k: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 10

    def predict(self, x: Tensor, y: Tensor, test: Tensor, classes: int) -> Tensor:
        """Find the neighbours, and predict."""
        if self.k > len(x):
            raise InputError(
                f"the readout 'knn' asks for {self.k} neighbours, but there are {len(x)} "
                f"training examples: lower k"
            )
        standard = Standardization.of(x)
        known = standard(x)
        offset = known.square().sum(1, dtype=torch.float64).div(2).float()
        predicted = []
        for part in test.split(_ROWS):
            labels = y[_nearest(standard(part), known, offset, self.k)]
            votes = torch.zeros(len(part), classes, dtype=torch.int64, device=x.device)
            predicted.append(votes.scatter_add_(1, labels, torch.ones_like(labels)).argmax(1))
        return torch.cat(predicted)


READOUTS = {own.name: own for own in marked_in(globals()) if isinstance(own, ReadoutEntry)}
"""The readouts that can be named now: ours, and the user's while their file is loaded."""

OURS = tuple(READOUTS)


@contextmanager
def nameable(each: Mapping[str, ReadoutEntry]) -> Iterator[None]:
    """Let readouts of a user be named within the block; names that are known stay as they are."""
    added = {name: own for name, own in each.items() if name not in READOUTS}
    READOUTS.update(added)
    try:
        yield
    finally:
        for name in added:
            del READOUTS[name]


def name_of(settings: object) -> str | None:
    """Return the name of a readout, None for anything else.

    >>> name_of(Knn(k=3)), name_of("knn")
    ('knn', None)
    """
    found = [own.name for own in marks_of(type(settings)) if isinstance(own, ReadoutEntry)]
    return found[0] if found else None


def read_each(
    settings: Readout, train: FeatureMatrix, test: FeatureMatrix, tasks: Sequence[Task]
) -> Read:
    """Fit a readout for each task, and predict its test examples among its classes.

    train (N, D), test (M, D): of all tasks, one after the other. The readout knows a task's classes
    by their rank, 0 for the lowest. Raises InputError as `read` does.
    """
    predicted, notes = [], dict[str, None]()
    fitted = train.values.split([len(task.train) for task in tasks])
    tested = test.values.split([len(task.test) for task in tasks])
    for task, x, other in zip(tasks, fitted, tested, strict=True):
        own = torch.tensor(sorted(task.classes))
        y = torch.searchsorted(own.to(x.device), task.train.y)
        here, there = FeatureMatrix(x, train.how), FeatureMatrix(other, test.how)
        found = read(settings, here, y, there, len(own))
        predicted.append(own[found.predicted])
        notes |= dict.fromkeys(found.notes)
    return Read(predicted=torch.cat(predicted), notes=tuple(notes))


def read(
    settings: Readout, train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int
) -> Read:
    """Fit a readout to train (N, D) with labels y (N,), and predict test (M, D).

    Raises InputError for labels that do not fit, values that are not finite, and predictions that
    are not one class for each test example.
    """
    _check(train, y, test, classes)
    device = train.values.device.type
    with torch.no_grad(), torch.autocast(device, enabled=False), products("fp32"):
        found = settings.predict(train.values, y, test.values, classes)
    found = found if isinstance(found, Read) else Read(predicted=found)
    predicted = found.predicted
    if not isinstance(predicted, Tensor) or predicted.shape != (len(test),):
        got = tuple(getattr(predicted, "shape", ())) or type(predicted).__name__
        raise InputError(
            f"the readout {name_of(settings)!r} predicts {got}, expected a class for each of "
            f"{len(test)} test examples: return a tensor of {len(test)} class numbers"
        )
    if predicted.dtype != torch.int64 or not bool(
        predicted.ge(0).logical_and(predicted < classes).all()
    ):
        raise InputError(
            f"the readout {name_of(settings)!r} predicts {predicted.dtype}, expected int64 from 0 "
            f"to {classes - 1}: return class numbers"
        )
    return Read(predicted=predicted.cpu(), notes=found.notes)


def _check(train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int) -> None:
    """Raise InputError for labels that do not fit, and for values that are not finite."""
    if len(y) != len(train) or not len(train):
        raise InputError(
            f"a readout needs a label for each training example, got {len(y)} labels for "
            f"{len(train)} examples: pass the labels of the same examples, one or more"
        )
    if train.values.shape[1] != test.values.shape[1]:
        raise InputError(
            f"the feature has {train.values.shape[1]} values for training examples and "
            f"{test.values.shape[1]} for test examples: take both from the same cut"
        )
    if int(y.min()) < 0 or int(y.max()) >= classes:
        raise InputError(
            f"the labels go from {int(y.min())} to {int(y.max())}, expected 0 to {classes - 1}: "
            f"correct the labels or the number of classes"
        )
    for matrix, which in ((train, "training"), (test, "test")):
        if not all(bool(part.isfinite().all()) for part in pieces(matrix.values)):
            raise InputError(
                f"the feature is NaN or infinite for some {which} examples, so that nothing can be "
                f"fitted to it: the model diverged; train it with a lower learning_rate"
            )


def _nearest(rows: Tensor, known: Tensor, offset: Tensor, k: int) -> Tensor:
    """Return the numbers (B, k) of the known rows (N, D) that are nearest to each row (B, D).

    offset: half the squared norms of the known rows (N,).
    """
    best = rows.new_empty(len(rows), 0)
    numbers = torch.empty(len(rows), 0, dtype=torch.int64, device=rows.device)
    for start in range(0, len(known), _COLUMNS):
        where = slice(start, start + _COLUMNS)
        # Nearer is larger: half the squared distance less what a row's all have, negative.
        near = torch.addmm(offset[where], rows, known[where].T, beta=-1)
        top = near.topk(min(k, near.shape[1]), 1)
        both = torch.cat([best, top.values], 1)
        best, at = both.topk(min(k, both.shape[1]), 1)
        numbers = torch.cat([numbers, top.indices + start], 1).gather(1, at)
    return numbers
