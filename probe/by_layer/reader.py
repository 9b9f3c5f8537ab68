"""The readouts downstream of the features of a job's networks, one network after the other.

All networks share the cuts of the first. All features of a network share a pass over the data for
their matrices, to which every readout is fitted, and one for the values that tails are retrained
on.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import cast

import torch
from torch import Tensor, nn

from probe.analysis.similarity import Compared
from probe.analysis.units import dead_units, effective_rank
from probe.batch import Value, first
from probe.by_layer.jobs import Job, peers_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.networks import Networks, Trained
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.probing import DIAGNOSTICS, Reading
from probe.cut.cuts import Cuts
from probe.metrics.murata import RETRAIN
from probe.model import Model
from probe.notes import of_classes, of_predictions
from probe.readouts.matrix import FeatureMatrix, feature_matrices
from probe.readouts.pooling import Pooling
from probe.readouts.readout import READOUTS, Linear, Readout, read_each
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import stream
from probe.tasks import Task
from probe.training.batch_norm import reestimated
from probe.training.history import History
from probe.values.allocation import CacheSettings

Matrices = Mapping[str, FeatureMatrix]
"""Each feature's values by its name."""

Offline = Callable[[], nn.Module]
"""Function that returns the network of the offline job of the same seed, on the device."""

_Measured = Iterator[tuple[Reading, Measurement]]


@dataclass(kw_only=True)
class Reader:
    """Reader of the features of a job's networks: trains and tests their readouts."""

    plan: Plan
    job: Job
    networks: Networks
    cache: CacheSettings
    offline: Offline

    def read(self, network: Trained, readings: Sequence[Reading]) -> _Measured:
        """Yield each of the readings of a network with its measurement; the model is not changed.

        Readings with batch norm reestimated come after those of the unchanged network.
        """
        model, output = network.model, self.plan.learners[self.job.learner].features[-1]
        yield from ((r, network.evaluated("multi")) for r in readings if r.feature == output)
        inner = [reading for reading in readings if reading.feature != output]
        ordered = sorted(inner, key=lambda reading: reading.reestimated)
        for mixed, own in groupby(ordered, key=lambda reading: reading.reestimated):
            seen = model
            if mixed:
                train = self.networks.scenario.merged.train.x
                seen = reestimated(model, train, self.networks.call)
            yield from self._read(seen, list(own))

    def _read(self, model: nn.Module, readings: Sequence[Reading]) -> _Measured:
        yield from self._retrained(model, [each for each in readings if each.base == RETRAIN])
        fitted = [each for each in readings if each.base not in (RETRAIN, DIAGNOSTICS)]
        compared = [each for each in readings if each.base == DIAGNOSTICS]
        data, groups = self.networks.scenario, self._by_pooling(fitted)
        if compared:
            groups.setdefault(Pooling(), [])
        # The diagnostics come last, and share the matrices of the readouts without a pooling.
        for pooling, own in sorted(groups.items(), key=lambda each: each[0] == Pooling()):
            shared = compared if pooling == Pooling() else []
            features = {each.feature for each in (*own, *shared)}
            cuts = self._cuts(model, features).of(model)
            test = self._matrices(cuts, data.test.x, pooling)
            if own:
                train = self._matrices(cuts, data.merged.train.x, pooling)
                yield from self._fitted(own, train, test)
                del train
            yield from self._compared(shared, test)

    def _by_pooling(self, readings: Sequence[Reading]) -> dict[Pooling, list[Reading]]:
        """Return the readings by the rule by which their readout takes wide features."""
        groups = dict[Pooling, list[Reading]]()
        for each in readings:
            readout = self._readout(each)
            pooling = readout.pooling if isinstance(readout, Linear) else Pooling()
            groups.setdefault(pooling, []).append(each)
        return groups

    def _readout(self, reading: Reading) -> Readout:
        """Return the readout of a reading that is fitted to a feature."""
        settings = self.plan.readouts[reading.base].settings
        return cast(Readout, READOUTS[reading.base].readout(**settings))

    def _retrained(self, model: nn.Module, readings: Sequence[Reading]) -> _Measured:
        """Yield partial retrainings: all features share one pass, all budgets one training."""
        if not readings:
            return
        scenario = self.networks.scenario
        data = scenario.merged
        wanted = {(each.feature, each.multiple): each for each in readings}
        how = RetrainSettings(
            recipe=self.plan.retraining,
            seed=self.job.seed,
            cache=self.cache,
            multiples=tuple(sorted({each.multiple for each in readings})),
        )
        cuts = self._cuts(model, {each.feature for each in readings})
        called = Model(model, fresh=self.networks.fresh)
        for tail in retrain_each(called, cuts, data.train, data.test, scenario.classes, how):
            # A feature may lack fewer budgets than another.
            if reading := wanted.get((tail.feature, tail.multiple)):
                notes = (*self._of_classes, *tail.notes)
                yield reading, self._measured("single", tail.predicted, notes, tail.history)

    @cached_property
    def _of_classes(self) -> list[str]:
        scenario = self.networks.scenario
        labels = ((task.train.y, task.test.y) for task in scenario.tasks)
        return of_classes(labels, scenario.classes)

    def _fitted(self, readings: Sequence[Reading], train: Matrices, test: Matrices) -> _Measured:
        """Yield the readouts that are fitted to the features' matrices."""
        scenario = self.networks.scenario
        for reading in readings:
            own, other = train[reading.feature], test[reading.feature]
            readout, told = self._readout(reading), self.plan.readouts[reading.base].per_task
            tasks = scenario.tasks if told else [scenario.merged]
            found = read_each(readout, own, other, tasks)
            notes = [*self._of_classes]
            notes += [f"{reading.base} reads {own.how}"] if own.pooled else []
            notes += [*found.notes, *of_predictions(found.predicted, scenario.test.y.cpu())]
            measured = self._measured("multi" if told else "single", found.predicted, notes)
            values = {"control": self._memorized(readout, own, tasks)} if reading.labels else {}
            yield reading, replace(measured, values=values)

    def _memorized(self, readout: Readout, train: FeatureMatrix, tasks: Sequence[Task]) -> float:
        """Return the accuracy of a readout on permuted training labels, fitted to these.

        Source: Hewitt & Liang, EMNLP 2019, each example being a type of its own.
        """
        generator, permuted = stream(self.job.seed, "labels"), []
        for task in tasks:
            drawn = torch.randperm(len(task.train), generator=generator).to(task.train.y.device)
            data = replace(task.train, y=task.train.y[drawn])
            permuted.append(replace(task, train=data, test=data))
        found = read_each(readout, train, train, permuted)
        true = torch.cat([task.test.y for task in permuted]).cpu()
        return float((found.predicted == true).double().mean())

    def _compared(self, readings: Sequence[Reading], test: Matrices) -> _Measured:
        """Yield the diagnostics of each feature."""
        if not readings:
            return
        here = {each.feature: test[each.feature].values for each in readings}
        own = {feature: Compared(x) for feature, x in here.items()}
        values = {
            feature: {"units": float(x.shape[1]), "dead": dead_units(x), "rank": effective_rank(x)}
            for feature, x in here.items()
        }
        for peer in peers_of(self.plan, self.job):
            model = self.offline() if peer == OFFLINE else self.networks.compared_with(peer)
            cuts = self._cuts(model, values.keys()).of(model)
            other = self._matrices(cuts, self.networks.scenario.test.x)
            for feature, numbers in values.items():
                numbers[f"cka.{peer}"] = own[feature].cka(other[feature].values)
        for reading in readings:
            examples = self.networks.scenario.test_examples
            yield reading, Measurement(test=examples, values=values[reading.feature])

    def _matrices(self, cuts: Cuts, x: Value, pooling: Pooling | None = None) -> Matrices:
        """Return the matrix of each feature for inputs x (N, ...); cuts: of the network itself."""
        return feature_matrices(cuts.each, x, budget=self.cache.budget, pooling=pooling)

    def _cuts(self, model: nn.Module, wanted: Collection[str]) -> Cuts:
        """Return the cuts of the requested features, in the order of the plan."""
        features = self.plan.learners[self.job.learner].features[:-1]
        sample = first(self.networks.scenario.test.x, SAMPLE)
        shared = self.networks.cuts(model, features, sample).each
        return Cuts(tuple(cut for cut in shared if cut.name in wanted))

    def _measured(
        self, head: str, predicted: Tensor, notes: Sequence[str], history: History | None = None
    ) -> Measurement:
        scenario = self.networks.scenario
        return Measurement(
            test=scenario.test_examples,
            predicted={head: scenario.in_callers_order(predicted)},
            history=history,
            notes=tuple(notes),
        )
