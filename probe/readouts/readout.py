"""The readouts by name, with their settings.

A readout is one class: its fields are settings, `predict` fits and predicts, and the
decorator `readout` names it. The classes above `READOUTS` can be named everywhere: in a
study's `[probing.readouts]`, in `probe model --readouts` and in `probe.analyze`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Protocol

import torch
from pydantic import Field, Strict
from torch import Tensor

from probe.batch import pieces
from probe.errors import InputError, described
from probe.extensions import ReadoutEntry, mark, marked_in, marks_of, readout
from probe.immutable import immutable
from probe.metrics.murata import RETRAIN
from probe.readouts import WIDE
from probe.readouts.linear import fit_linear
from probe.readouts.pooling import Pool, Pooling
from probe.readouts.standardization import standardization
from probe.seeding import every_global_stream, permutation, stream
from probe.stored_names import ReadoutName
from probe.tasks import Task
from probe.training.precision import products
from probe.validation import configuration

# The part of the table of distances that is in memory at a time.
_ROWS = 512
_COLUMNS = 8192


@immutable(eq=False)
class Read:
    """The predicted classes of M test examples, (M,) int64 on the CPU, and notes on the fit."""

    predicted: Tensor
    notes: tuple[str, ...] = ()


class Readout(Protocol):
    """A classifier that is fitted to a feature; its fields are settings."""

    def predict(
        self,
        x: Tensor,
        y: Tensor,
        test: Tensor,
        classes: int,
    ) -> Tensor | Read:
        """Fit to the training examples, and predict the classes of the test examples.

        Args:
            x: Training features, (N, D) float32, not standardized.
            y: Training labels, (N,) int64, below `classes`, on the device of x.
            test: Test features, (M, D) float32, not standardized.
            classes: Number of classes K.

        Returns:
            The predicted classes, (M,) int64, or `Read` if there are notes.
        """


@configuration
class Retrain:
    """Partial retraining: everything downstream of the feature is trained anew.

    Source: Murata 2020, section 2. Its settings are the recipe of the retraining.
    `probe.retrain` trains it on the values that the rest of the network takes as input,
    not on a matrix.
    """


mark(Retrain, ReadoutEntry(name=RETRAIN, readout=Retrain, steps="affordable"))


@readout("linear")
class Linear:
    """Multinomial logistic regression to convergence on the standardized feature.

    Attributes:
        C: Weight of the examples against the penalty, as in scikit-learn.
        pool: The kind of pooling of wide features, see
            `probe.readouts.pooling.Pooling`.
        width: The largest size of a feature that is flattened, as in `Pooling`.
        channels: The axis of the channels if no module implies it, as in `Pooling`.
        per_class: The number k of training examples of each class that it is fitted to,
            drawn by the seed; None = all. It is part of the name, `linear:k`.
    """

    C: Annotated[float, Strict(), Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    pool: Pool = "bins"
    width: Annotated[int, Strict(), Field(ge=1, le=100_000)] = WIDE
    channels: Literal["first", "last"] | None = None
    per_class: Annotated[int, Strict(), Field(ge=1, lt=1_000_000)] | None = None

    @property
    def pooling(self) -> Pooling:
        """The rule for wide features."""
        return Pooling(pool=self.pool, width=self.width, channels=self.channels)

    def predict(
        self,
        x: Tensor,
        y: Tensor,
        test: Tensor,
        classes: int,
    ) -> Read:
        """Fit the logistic regression, and predict."""
        model = fit_linear(x, y, classes, self.C)
        return Read(predicted=model.predict(test), notes=model.notes)


@readout("linear-task", task_aware=True)
class LinearTask(Linear):
    """Logistic regression fitted to each task's training examples, for its classes only.

    Source: the linear probes of Davari et al., CVPR 2022.
    """


@readout("ncm")
class Ncm:
    """The nearest class mean of the standardized feature (Rebuffi et al., CVPR 2017).

    A class without examples is never predicted; in a tie the lowest class is predicted.

    >>> x, y = torch.tensor([[0.0], [2.0], [9.0]]), torch.tensor([0, 0, 2])
    >>> Ncm().predict(x, y, torch.tensor([[1.0], [7.0]]), 3).tolist()
    [0, 2]
    """

    def predict(
        self,
        x: Tensor,
        y: Tensor,
        test: Tensor,
        classes: int,
    ) -> Tensor:
        """Take the mean of each class, and predict."""
        standard = standardization(x)
        sums = x.new_zeros(classes, x.shape[1], dtype=torch.float64)
        for part, labels in zip(x.split(_COLUMNS), y.split(_COLUMNS), strict=True):
            sums.index_add_(0, labels, standard(part).double())
        counts = torch.bincount(y, minlength=classes)
        means = sums / counts.clamp(min=1)[:, None]
        # Half the squared distance, without the norm of the example, which all classes
        # share: |mean|^2 / 2 - x mean. In float64, as the means are few.
        offset = (means.square().sum(1) / 2).masked_fill(counts == 0, torch.inf)
        parts = (standard(part).double() for part in test.split(_COLUMNS))
        return torch.cat([(part @ means.T - offset).argmax(1) for part in parts])


@readout("knn")
class Knn:
    """The majority of the k nearest training examples in the standardized feature.

    Each neighbor has one vote; in a tie the lowest class is predicted.

    >>> x, y = torch.tensor([[0.0], [1.0], [9.0], [8.0]]), torch.tensor([0, 0, 1, 1])
    >>> Knn(k=3).predict(x, y, torch.tensor([[2.0], [7.0]]), 2).tolist()
    [0, 1]
    """

    k: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 10

    def predict(
        self,
        x: Tensor,
        y: Tensor,
        test: Tensor,
        classes: int,
    ) -> Tensor:
        """Find the nearest neighbors, and predict."""
        if self.k > len(x):
            raise InputError(
                f"the readout 'knn' has k={self.k}, but only {len(x)} training "
                "examples: lower k"
            )
        standard = standardization(x)
        rows = standard(x)
        offset = rows.square().sum(1, dtype=torch.float64).div(2).float()
        predicted = []
        for part in test.split(_ROWS):
            labels = y[_nearest(standard(part), rows, offset, self.k)]
            votes = labels.new_zeros(len(part), classes)
            votes.scatter_add_(1, labels, torch.ones_like(labels))
            predicted.append(votes.argmax(1))
        return torch.cat(predicted)


READOUTS = {entry.name: entry for entry in marked_in(globals(), ReadoutEntry)}
"""The registered readouts by name: this package's, and the user's while their file is loaded."""

OURS = tuple(READOUTS)

_MOST_PER_CLASS = 10**6


def name_of(settings: object) -> str | None:
    """Return the name of a readout, None for anything else.

    >>> name_of(Knn(k=3)), name_of(Linear(per_class=20)), name_of("knn")
    ('knn', 'linear:20', None)
    """
    entry = next(iter(marks_of(type(settings), ReadoutEntry)), None)
    if entry and isinstance(settings, Linear) and settings.per_class:
        return f"{entry.name}:{settings.per_class}"
    return entry.name if entry else None


def entry_of(
    name: str, readouts: Mapping[str, ReadoutEntry] = READOUTS
) -> ReadoutEntry | None:
    """Return the readout of a name, None if there is none.

    Args:
        name: The name, perhaps with a number of examples.
        readouts: The readouts that may be named.

    >>> entry_of("linear:20").steps, entry_of("linear:0"), entry_of("ncm:5")
    ('ends', None, None)
    """
    parsed = ReadoutName.parse(name)
    entry = readouts.get(parsed.base)
    if entry is None or name == parsed.base:
        return entry
    is_few = parsed.per_class is not None and 0 < parsed.per_class < _MOST_PER_CLASS
    if name == parsed.planned and is_few and issubclass(entry.readout, Linear):
        return replace(entry, name=name, steps="ends")
    return None


def read_each(
    settings: Readout,
    train: Tensor,
    test: Tensor,
    tasks: Sequence[Task],
    seed: int = 0,
) -> Read:
    """Fit a readout for each task, and predict its test examples among its classes.

    The readout sees a task's classes by their rank, 0 for the lowest.

    Args:
        settings: The readout.
        train: The feature (N, D) of the training examples of all tasks, one after the
            other.
        test: The feature (M, D) of the test examples.
        tasks: The tasks, with their labels.
        seed: The seed that draws the examples of `Linear.per_class`.

    Returns:
        The predictions (M,), and the notes on the fits.

    Raises:
        InputError: Values are not finite, or the predictions are not classes.
    """
    predicted = []
    notes = dict[str, None]()
    train_parts = train.split([len(task.train) for task in tasks])
    test_parts = test.split([len(task.test) for task in tasks])
    for task, x, test_x in zip(tasks, train_parts, test_parts, strict=True):
        classes = torch.tensor(sorted(task.classes), device="cpu")
        ranks = torch.searchsorted(classes.to(x.device), task.train.y)
        if isinstance(settings, Linear) and settings.per_class:
            drawn = _of_each_class(task.train.y, settings.per_class, seed)
            if torch.bincount(ranks)[ranks.unique()].min() < settings.per_class:
                few = (
                    f"some classes have fewer than {settings.per_class} training "
                    "examples, which are all used"
                )
                notes[few] = None
            x = x[drawn]
            ranks = ranks[drawn]
        result = read(
            settings,
            x,
            ranks,
            test_x,
            len(classes),
        )
        predicted.append(classes[result.predicted])
        notes |= dict.fromkeys(result.notes)
    return Read(predicted=torch.cat(predicted), notes=tuple(notes))


def _of_each_class(y: Tensor, per_class: int, seed: int) -> Tensor:
    """Return the indices of k examples (n,) of each class, or of all if there are fewer.

    With the same seed, a larger k adds examples to those of a smaller one, and the
    examples of a class do not depend on the other classes.
    """
    drawn = []
    for label in y.unique().tolist():
        rows = (y == label).nonzero()[:, 0]
        order = permutation(len(rows), stream(seed, "per class", label))
        drawn.append(rows[order[:per_class].to(y.device)])
    return torch.cat(drawn)


def read(
    settings: Readout,
    x: Tensor,
    y: Tensor,
    test: Tensor,
    classes: int,
) -> Read:
    """Fit a readout to a feature, and predict the class of each test example.

    Args:
        settings: The readout.
        x: The feature (N, D) of the training examples.
        y: The labels (N,) of the training examples, 0 to K - 1.
        test: The feature (M, D) of the test examples.
        classes: Number of classes K.

    Returns:
        The predictions (M,), and the notes on the fit.

    Raises:
        InputError: Values are not finite, or the predictions are not one class for each
            example.
    """
    for values, half in ((x, "training"), (test, "test")):
        if not all(bool(part.isfinite().all()) for part in pieces(values)):
            raise InputError(
                f"the feature is not finite for {half} examples: train with a lower "
                "learning_rate"
            )
    seeded = every_global_stream(stream(0, "readout"))  # a user-defined one may draw
    with (
        torch.no_grad(),
        torch.autocast(x.device.type, enabled=False),
        products("fp32"),
        seeded,
    ):
        result = _predict(settings, x, y, test, classes)
    if not isinstance(result, Read):
        result = Read(predicted=result)
    predicted: object = result.predicted
    got = type(predicted).__name__
    if isinstance(predicted, Tensor):
        inside = bool((predicted >= 0).logical_and(predicted < classes).all())
        vector = predicted.shape == (len(test),) and predicted.dtype == torch.int64
        if inside and vector:
            return Read(predicted=predicted.cpu(), notes=result.notes)
        got = f"{predicted.dtype} {tuple(predicted.shape)}"
    raise InputError(
        f"the readout {name_of(settings)!r} predicts {got}, expected int64 "
        f"({len(test)},): return a class from 0 to {classes - 1} for each test example"
    )


def _predict(
    settings: Readout,
    x: Tensor,
    y: Tensor,
    test: Tensor,
    classes: int,
) -> Tensor | Read:
    """Return what a readout predicts; an error of a user-defined one becomes one sentence."""
    name = name_of(settings)
    try:
        return settings.predict(x, y, test, classes)
    except InputError:
        raise
    except Exception as error:
        if name is None or ReadoutName.parse(name).base in OURS:
            raise
        raise InputError(f"the readout {name!r} raised {described(error)}") from error


def _nearest(
    test: Tensor,
    rows: Tensor,
    offset: Tensor,
    k: int,
) -> Tensor:
    """Return the numbers (B, k) of the rows (N, D) that are nearest to each test row (B, D).

    Some rows at a time, so that the distances fit into memory. offset: half the squared
    norms of the rows (N,).
    """
    best = test.new_empty(len(test), 0)
    numbers = test.new_empty(len(test), 0, dtype=torch.int64)
    for start in range(0, len(rows), _COLUMNS):
        where = slice(start, start + _COLUMNS)
        # The negative of half the squared distance, without the norm of the test row: the
        # largest are the nearest.
        nearness = torch.addmm(offset[where], test, rows[where].T, beta=-1)
        top = nearness.topk(min(k, nearness.shape[1]), 1)
        # The nearest so far, and those of these rows.
        both = torch.cat([best, top.values], 1)
        best, columns = both.topk(min(k, both.shape[1]), 1)
        numbers = torch.cat([numbers, top.indices + start], 1).gather(1, columns)
    return numbers
