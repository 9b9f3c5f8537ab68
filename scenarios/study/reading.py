"""Reading behind the features of one network: what a job measures there after a step.

What the readings of a step can share, they do: see `probe.feature_reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import torch
from torch import Tensor, nn

from probe.analysis.similarity import Compared
from probe.analysis.units import dead_units, effective_rank
from probe.by_layer.probing import DIAGNOSTICS, Reading
from probe.cut.model_call import ModelCall
from probe.feature_reader import FeatureReader, Matrices
from probe.metrics.murata import RETRAIN
from probe.metrics.outcomes import Outcomes
from probe.notes import of_classes
from probe.retraining import RetrainSettings
from probe.training.batch_norm import reestimated
from probe.training.fresh_weights import Fresh
from probe.training.history import History
from probe.values.allocation import CacheSettings
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.heads import count
from scenarios.networks import bare, fresh_source
from scenarios.own_code import REGISTRY
from scenarios.streams.task import Scenario
from scenarios.study.jobs import Job, peers_of
from scenarios.study.kept.measurement import Measurement
from scenarios.study.spec import Study

Network = Callable[[str], nn.Module]
"""What gives another network of the job by its name, see `scenarios.study.jobs.peers_of`."""

_Found = Iterator[tuple[Reading, Measurement]]


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
    """Reads behind the features of a job's networks, one step after the other."""

    study: Study
    job: Job
    scenario: Scenario
    cache: CacheSettings

    @cached_property
    def _behind(self) -> FeatureReader:
        # Behind the output there is nothing to read: a step's evaluation has it.
        return FeatureReader(
            features=self.study.features_of(self.job.learner)[:-1],
            train=self.scenario.merged.train,
            test=self.scenario.test,
            classes=self.scenario.classes,
            budget=self.cache.budget,
            model_call=self._call,
        )

    @property
    def _call(self) -> ModelCall:
        """How the network itself is called, which a learner calls as `model(x)`."""
        own = REGISTRY.networks.get(self.study.network.name)
        if own is None or LEARNERS[self.job.kind].own_features:
            return ModelCall()
        return ModelCall(call=own.call, output=own.output)

    @property
    def _fresh(self) -> Fresh | None:
        """Where fresh weights come from, None = the recipe's rule."""
        if LEARNERS[self.job.kind].own_features:
            return None
        return fresh_source(self.study.network.name, self.study.retraining_recipe.init)

    def read(self, model: nn.Module, readings: Sequence[Reading], network: Network) -> _Found:
        """Yield what is measured behind the features of a network, for each of the readings.

        network: asked for those that the last is compared with. The model is not changed.
        """
        model = bare(model)[0]
        ordered = sorted(readings, key=lambda reading: reading.reestimated)
        for mixed, own in groupby(ordered, key=lambda reading: reading.reestimated):
            seen = model
            if mixed:
                seen = reestimated(model, self.scenario.merged.train.x, self._call)
            yield from self._read(seen, list(own), network)

    def _read(self, model: nn.Module, readings: Sequence[Reading], network: Network) -> _Found:
        """Yield the readings of one network; its batch norm is as it is to be."""
        retrained = [each for each in readings if each.base == RETRAIN]
        fitted = [each for each in readings if each.base not in (RETRAIN, DIAGNOSTICS)]
        compared = [each for each in readings if each.base == DIAGNOSTICS]
        yield from self._retrained(model, retrained)
        if not (fitted or compared):
            return
        features = {each.feature for each in (*fitted, *compared)}
        inputs = [self.scenario.test.x, *([self.scenario.merged.train.x] if fitted else [])]
        test, *train = self._behind.matrices(model, features, *inputs)
        if fitted:
            yield from self._fitted(fitted, train.pop(), test)
        yield from self._compared(compared, test, network)

    def _retrained(self, model: nn.Module, readings: Sequence[Reading]) -> _Found:
        """Yield partial retrainings: all features share one pass, all budgets one training."""
        if not readings:
            return
        merged = self.scenario.merged
        known = of_classes(merged.train.y, merged.test.y, self.scenario.classes)
        wanted = {(each.feature, each.multiple): each for each in readings}
        how = RetrainSettings(
            recipe=self.study.retraining_recipe,
            seed=self.job.seed,
            cache=self.cache,
            fresh=self._fresh,
            multiples=tuple(sorted({each.multiple for each in readings})),
        )
        for found in self._behind.retrained(model, {each.feature for each in readings}, how):
            # A feature may lack one budget only, of those that another lacks.
            if reading := wanted.get((found.feature, found.multiple)):
                notes = (*known, *found.notes)
                yield reading, self._measured(found.predicted, notes, found.history)

    def _fitted(self, readings: Sequence[Reading], train: Matrices, test: Matrices) -> _Found:
        """Yield what is fitted to the features' matrices."""
        for reading in readings:
            readout = self.study.probing.settings_of(reading.base)
            if readout is None:
                raise TypeError(f"{reading.readout} is fitted to no matrix")
            found = self._behind.fitted(readout, train[reading.feature], test[reading.feature])
            yield reading, self._measured(found.predicted, found.notes)

    def _compared(self, readings: Sequence[Reading], test: Matrices, network: Network) -> _Found:
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
            model = bare(network(peer))[0]
            [other] = self._behind.matrices(model, values.keys(), self.scenario.test.x)
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
