"""Reading behind the features of one network: what a job measures there after a step.

All readings of a step share what they can: the cuts, one pass over the data for every feature's
matrix, one for the values that tails are retrained on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor, nn

from probe.analysis.similarity import Compared
from probe.analysis.units import dead_units, effective_rank
from probe.batch import first
from probe.cut.cuts import Cuts, cut_each
from probe.metrics.outcomes import Outcomes
from probe.notes import of_classes, of_predictions
from probe.readouts.matrix import FeatureMatrix, feature_matrices
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.training.batch_norm import reestimate
from probe.training.history import History
from probe.values.allocation import CacheSettings
from scenarios.learners.heads import count
from scenarios.streams.task import Scenario
from scenarios.study.jobs import Job, peers_of
from scenarios.study.measurement import Measurement
from scenarios.study.probing import DIAGNOSTICS, RETRAIN, Reading
from scenarios.study.spec import Study

Network = Callable[[str], nn.Module]
"""What gives another network of the job by its name, see `scenarios.study.jobs.peers_of`."""

_Found = Iterator[tuple[Reading, Measurement]]
_Matrices = dict[str, FeatureMatrix]


def right_of(scenario: Scenario, predicted: Tensor) -> Outcomes:
    """Return which of the test examples of all tasks were predicted, (N,), right.

    They come task after task as they are learned, and within a task class after class: so a table
    of counts says which task and class each is of.
    """
    y = [task.test.y.cpu() for task in scenario.tasks]
    right = (predicted.cpu() == scenario.test.y.cpu()).split([len(own) for own in y])
    ordered = [flags[own.argsort(stable=True)] for flags, own in zip(right, y, strict=True)]
    return Outcomes.of(torch.cat(ordered).numpy())


@dataclass(kw_only=True)
class Reader:
    """Reads behind the features of a job's networks, one step after the other.

    It keeps the first network's cuts, which serve the others.
    """

    study: Study
    job: Job
    scenario: Scenario
    cache: CacheSettings
    _cuts: Cuts | None = None

    def read(self, model: nn.Module, readings: Sequence[Reading], network: Network) -> _Found:
        """Yield what is measured behind the features of a network, for each of the readings.

        network: asked for those that the last is compared with. The model is not changed.
        """
        for mixed, own in groupby(readings, key=lambda reading: reading.reestimated):
            seen = model
            if mixed:
                seen = copy.deepcopy(model)
                reestimate(seen, self.scenario.merged.train.x)
            yield from self._read(seen, list(own), network)

    def _read(self, model: nn.Module, readings: Sequence[Reading], network: Network) -> _Found:
        """Yield the readings of one network; its batch norm is as it is to be."""
        retrained = [each for each in readings if each.base == RETRAIN]
        fitted = [each for each in readings if each.base not in (RETRAIN, DIAGNOSTICS)]
        compared = [each for each in readings if each.base == DIAGNOSTICS]
        yield from self._retrained(model, retrained)
        if not (fitted or compared):
            return
        test = self._matrices(model, [*fitted, *compared], self.scenario.test.x)
        if fitted:
            train = self._matrices(model, fitted, self.scenario.merged.train.x)
            yield from self._fitted(fitted, train, test)
            del train
        yield from self._compared(compared, test, network)

    def _retrained(self, model: nn.Module, readings: Sequence[Reading]) -> _Found:
        """Yield partial retrainings: all features share one pass, all budgets one training."""
        if not readings:
            return
        train, test = self.scenario.merged.train, self.scenario.merged.test
        known = of_classes(train.y, test.y, self.scenario.classes)
        wanted = {(each.feature, each.multiple): each for each in readings}
        how = RetrainSettings(
            recipe=self.study.retraining_recipe,
            seed=self.job.seed,
            cache=self.cache,
            multiples=tuple(sorted({each.multiple for each in readings})),
        )
        cuts = self._cut(model, readings)
        for found in retrain_each(model, cuts, train, test, self.scenario.classes, how):
            # A feature may lack one budget only, of those that another lacks.
            if reading := wanted.get((found.feature, found.multiple)):
                notes = (*known, *found.notes)
                yield reading, self._measured(found.predicted, notes, found.history)

    def _fitted(self, readings: Sequence[Reading], train: _Matrices, test: _Matrices) -> _Found:
        """Yield what is fitted to the features' matrices."""
        y, scenario = self.scenario.merged.train.y, self.scenario
        for reading in readings:
            readout = self.study.probing.settings_of(reading.base)
            if readout is None:
                raise TypeError(f"{reading.readout} is fitted to no matrix")
            own = train[reading.feature], y, test[reading.feature], scenario.classes
            found = readout.read(*own)
            notes = [f"{reading.base} reads {own[0].how}"] if own[0].pooled else []
            notes += [*found.notes, *of_predictions(found.predicted, scenario.test.y.cpu())]
            yield reading, self._measured(found.predicted, notes)

    def _compared(self, readings: Sequence[Reading], test: _Matrices, network: Network) -> _Found:
        """Yield the diagnostics of each feature."""
        if not readings:
            return
        own = {each.feature: Compared(test[each.feature].values) for each in readings}
        values = {
            each.feature: {
                "units": float(test[each.feature].values.shape[1]),
                "dead": dead_units(test[each.feature].values),
                "rank": effective_rank(test[each.feature].values),
            }
            for each in readings
        }
        for peer in peers_of(self.study, self.job):
            other = self._matrices(network(peer), readings, self.scenario.test.x)
            for feature, found in values.items():
                found[f"cka.{peer}"] = own[feature].cka(other[feature].values)
        for reading in readings:
            yield reading, Measurement(counts={}, values=values[reading.feature])

    def _measured(
        self, predicted: Tensor, notes: Sequence[str], history: History | None = None
    ) -> Measurement:
        return Measurement(
            counts={"single": count(self.scenario, predicted).tables},
            right={"single": right_of(self.scenario, predicted)},
            history=history,
            notes=tuple(notes),
        )

    def _matrices(self, model: nn.Module, readings: Sequence[Reading], x: Tensor) -> _Matrices:
        """Return the matrix of each feature of the readings, for inputs x (N, ...)."""
        return feature_matrices(self._cut(model, readings).each, x, budget=self.cache.budget)

    def _cut(self, model: nn.Module, readings: Sequence[Reading]) -> Cuts:
        """Return the cuts of a network at the features of the readings, in order of depth."""
        if self._cuts is None:
            features = self.study.features_of(self.job.learner)[:-1]
            self._cuts = cut_each(model, features, first(self.scenario.test.x, SAMPLE))
        wanted = {each.feature for each in readings}
        own = Cuts(tuple(cut for cut in self._cuts.each if cut.name in wanted))
        return own.of(model)
