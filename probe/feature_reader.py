"""Behind the features of networks of one architecture: the tail retrained, or a readout fitted.

All networks share the cuts of the first. All features of a network share a pass over the data for
their matrices, from which every readout is fitted, and one for the values that tails are retrained
on. A study and `probe.analyze` both read this way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from probe.batch import Value, first
from probe.cut.cuts import Cuts, cut_each
from probe.cut.model_call import ModelCall
from probe.examples import Examples
from probe.notes import of_predictions
from probe.readouts.matrix import FeatureMatrix, feature_matrices
from probe.readouts.readout import Readout, name_of, read
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import Retrained, RetrainSettings

Matrices = Mapping[str, FeatureMatrix]
"""Each feature's values by its name."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a readout that was fitted to a feature's matrix predicts.

    predicted: (N,) class numbers, on the CPU, in the order of the test data; notes: on it.
    """

    predicted: Tensor
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class FeatureReader:
    """Reads behind the features of one network after the other.

    features: at which the first network is cut, by name; the cuts serve all; train, test: examples
    of all tasks, on the networks' device; classes: K; budget: bytes of all features' matrices that
    one pass over the data fills, None = any; model_call: how the networks are called.
    """

    features: Sequence[str]
    train: Examples[Any]
    test: Examples[Any]
    classes: int
    budget: int | None = None
    model_call: ModelCall = field(default_factory=ModelCall)
    _cuts: Cuts | None = None

    def cuts(self, model: nn.Module) -> Cuts:
        """Return the cuts at all features, of the first network; model: it, the first time."""
        if self._cuts is None:
            sample, call = first(self.test.x, SAMPLE), self.model_call
            self._cuts = cut_each(model, self.features, sample, call.output, call.call)
        return self._cuts

    def retrained(
        self, model: nn.Module, wanted: Collection[str], how: RetrainSettings
    ) -> Iterator[Retrained]:
        """Yield partial retrainings: all features share one pass, all budgets one training.

        how: without output and call, which the cuts know.
        """
        cuts = self._at(model, wanted)
        return retrain_each(model, cuts, self.train, self.test, self.classes, how)

    def matrices(self, model: nn.Module, wanted: Collection[str], *inputs: Value) -> list[Matrices]:
        """Return the matrix of each feature that is wanted, for each of the inputs x (N, ...)."""
        cuts = self._at(model, wanted).of(model).each
        return [feature_matrices(cuts, x, budget=self.budget) for x in inputs]

    def fitted(self, readout: Readout, train: FeatureMatrix, test: FeatureMatrix) -> Fitted:
        """Fit a readout to a feature's matrix of the training examples, and read out the others."""
        found = read(readout, train, self.train.y, test, self.classes)
        notes = [f"{name_of(readout)} reads {train.how}"] if train.pooled else []
        notes += [*found.notes, *of_predictions(found.predicted, self.test.y.cpu())]
        return Fitted(predicted=found.predicted, notes=tuple(notes))

    def _at(self, model: nn.Module, wanted: Collection[str]) -> Cuts:
        """Return those of the shared cuts that are wanted, in their own order."""
        own = self.cuts(model).each
        return Cuts(tuple(cut for cut in own if cut.name in wanted))
