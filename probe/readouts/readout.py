"""The readouts by name, with their settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.batch import pieces
from probe.errors import InputError, unknown
from probe.readouts.linear import fit_linear
from probe.readouts.matrix import FeatureMatrix
from probe.readouts.neighbors import k_nearest, nearest_class_mean
from probe.training.precision import products
from probe.validation import PositiveFloat, PositiveInt, configuration


@dataclass(frozen=True, kw_only=True, eq=False)
class Read:
    """The predicted classes of M test examples, (M,) int64 on the CPU, and what is to be said."""

    predicted: Tensor
    notes: tuple[str, ...] = ()


@configuration
class Linear:
    """Multinomial logistic regression to convergence on the standardised feature.

    C: how much the examples count beside the penalty, as in scikit-learn: a larger one penalises
    less.
    """

    C: PositiveFloat = 1.0

    @property
    def name(self) -> str:
        """The readout's name."""
        return "linear"

    def read(self, train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int) -> Read:
        """Fit to train (N, D) with labels y (N,), and predict test (M, D)."""
        with _checked(train, y, test, classes):
            model = fit_linear(train.values, y, classes, self.C)
            return Read(predicted=model.predict(test.values).cpu(), notes=model.notes)


@configuration
class Ncm:
    """The nearest class mean of the standardised feature (Rebuffi et al., CVPR 2017)."""

    @property
    def name(self) -> str:
        """The readout's name."""
        return "ncm"

    def read(self, train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int) -> Read:
        """Take the means of train (N, D) with labels y (N,), and predict test (M, D)."""
        with _checked(train, y, test, classes):
            found = nearest_class_mean(train.values, y, test.values, classes)
            return Read(predicted=found.cpu())


@configuration
class Knn:
    """The majority of the k nearest training examples in the standardised feature."""

    k: PositiveInt = 10

    @property
    def name(self) -> str:
        """The readout's name."""
        return "knn"

    def read(self, train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int) -> Read:
        """Find neighbours in train (N, D) with labels y (N,), and predict test (M, D)."""
        if self.k > len(train):
            raise InputError(
                f"the readout 'knn' asks for {self.k} neighbours and there are {len(train)} "
                f"training examples: lower k"
            )
        with _checked(train, y, test, classes):
            found = k_nearest(train.values, y, test.values, classes, self.k)
            return Read(predicted=found.cpu())


Readout = Linear | Ncm | Knn

READOUTS: dict[str, type[Linear] | type[Ncm] | type[Knn]] = {
    "linear": Linear,
    "ncm": Ncm,
    "knn": Knn,
}


def readout_named(name: str) -> Readout:
    """Return the readout of that name with its default settings; InputError for an unknown one.

    >>> readout_named("knn")
    Knn(k=10)
    """
    if name not in READOUTS:
        raise unknown("readout", name, READOUTS)
    return READOUTS[name]()


@contextmanager
def _checked(train: FeatureMatrix, y: Tensor, test: FeatureMatrix, classes: int) -> Iterator[None]:
    """Check what a readout is given, and let it multiply without rounding within the block.

    Raises InputError for labels that do not fit and for values that are not finite.
    """
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
    device = train.values.device.type
    with torch.no_grad(), torch.autocast(device, enabled=False), products("fp32"):
        yield
