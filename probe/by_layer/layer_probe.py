"""The readouts downstream of the features of a job's networks, one network after the other.

All networks share the cuts of the first. All features of a network share a pass over the data for
their matrices, to which every readout is fitted, and one for the values that tails are retrained
on.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import torch
from torch import Tensor, nn

from probe.analysis.similarity import Compared
from probe.analysis.units import dead_units, effective_rank
from probe.batch import Value, first
from probe.by_layer.jobs import Job, peers_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.networks import Networks, TrainedNetwork
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.probing import DIAGNOSTICS, PlannedMeasurement
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

OfflineNetwork = Callable[[], nn.Module]
"""Function that returns the network of the offline job of the same seed, on the device."""

_Measured = Iterator[tuple[PlannedMeasurement, Measurement]]


@dataclass(kw_only=True)
class LayerProbe:
    """Probe of the features of a job's networks: trains and tests the readouts."""

    plan: Plan
    job: Job
    networks: Networks
    cache: CacheSettings
    offline: OfflineNetwork

    def measure(self, network: TrainedNetwork, planned: Sequence[PlannedMeasurement]) -> _Measured:
        """Yield each planned measurement with its result; the model is not changed.

        Those with batch norm reestimated come after those of the unchanged network.
        """
        output = self.plan.learners[self.job.learner].features[-1]
        inner = [entry for entry in planned if entry.feature != output]
        yield from ((p, network.evaluate("multi")) for p in planned if p.feature == output)
        yield from self._measure(network.model, [entry for entry in inner if not entry.reestimates])
        if mixed := [entry for entry in inner if entry.reestimates]:
            train = self.networks.scenario.merged.train.x
            model = reestimated(network.model, train, self.networks.call)
            yield from self._measure(model, mixed)

    def _measure(self, model: nn.Module, planned: Sequence[PlannedMeasurement]) -> _Measured:
        if retrained := [entry for entry in planned if entry.readout_name == RETRAIN]:
            yield from self._retrain(model, retrained)
        diagnosed = [entry for entry in planned if entry.readout_name == DIAGNOSTICS]
        groups: dict[Pooling, list[PlannedMeasurement]] = {}
        for entry in planned:
            if entry.readout_name not in (RETRAIN, DIAGNOSTICS):
                readout = self._readout(entry)
                pooling = readout.pooling if isinstance(readout, Linear) else Pooling()
                groups.setdefault(pooling, []).append(entry)
        # The diagnostics come last, and share the matrices of the readouts without a pooling.
        unpooled = groups.pop(Pooling(), [])
        if unpooled or diagnosed:
            groups[Pooling()] = unpooled
        data = self.networks.scenario
        for pooling, fitted in groups.items():
            shared = diagnosed if pooling == Pooling() else []
            cuts = self._cuts(model, {entry.feature for entry in (*fitted, *shared)}).of(model)
            test = self._matrices(cuts, data.test.x, pooling)
            if fitted:
                train = self._matrices(cuts, data.merged.train.x, pooling)
                yield from self._fit(fitted, train, test)
                del train
            if shared:
                yield from self._diagnose(shared, test)

    def _readout(self, planned: PlannedMeasurement) -> Readout:
        """Return the readout, which is fitted to a feature."""
        settings = self.plan.readouts[planned.readout_name].settings
        return cast(Readout, READOUTS[planned.readout_name].readout(**settings))

    def _retrain(self, model: nn.Module, planned: Sequence[PlannedMeasurement]) -> _Measured:
        """Yield partial retrainings: all features share one pass, all budgets one training."""
        scenario = self.networks.scenario
        data = scenario.merged
        planned_by_tail = {(entry.feature, entry.epoch_multiple): entry for entry in planned}
        settings = RetrainSettings(
            recipe=self.plan.retraining,
            seed=self.job.seed,
            cache=self.cache,
            multiples=tuple(sorted({entry.epoch_multiple for entry in planned})),
        )
        cuts = self._cuts(model, {entry.feature for entry in planned})
        called = Model(model, fresh=self.networks.fresh)
        for tail in retrain_each(called, cuts, data.train, data.test, scenario.classes, settings):
            # A feature may lack fewer budgets than another.
            if entry := planned_by_tail.get((tail.feature, tail.multiple)):
                notes = (*self._class_notes, *tail.notes)
                yield entry, self._measurement("single", tail.predicted, notes, tail.history)

    @cached_property
    def _class_notes(self) -> list[str]:
        scenario = self.networks.scenario
        labels = ((task.train.y, task.test.y) for task in scenario.tasks)
        return of_classes(labels, scenario.classes)

    def _fit(
        self, planned: Sequence[PlannedMeasurement], train: Matrices, test: Matrices
    ) -> _Measured:
        """Yield the readouts that are fitted to the features' matrices."""
        scenario = self.networks.scenario
        for entry in planned:
            readout, features = self._readout(entry), train[entry.feature]
            task_aware = self.plan.readouts[entry.readout_name].task_aware
            tasks = scenario.tasks if task_aware else [scenario.merged]
            result = read_each(readout, features, test[entry.feature], tasks)
            notes = [
                *self._class_notes,
                *([f"{entry.readout_name} reads {features.how}"] if features.pooled else []),
                *result.notes,
                *of_predictions(result.predicted, scenario.test.y.cpu()),
            ]
            head = "multi" if task_aware else "single"
            measurement = self._measurement(head, result.predicted, notes)
            if entry.permutes_labels:
                control = self._permuted_accuracy(readout, features, tasks)
                measurement = replace(measurement, values={"control": control})
            yield entry, measurement

    def _permuted_accuracy(
        self, readout: Readout, train: FeatureMatrix, tasks: Sequence[Task]
    ) -> float:
        """Return the accuracy of a readout on permuted training labels, fitted to these.

        Source: Hewitt & Liang, EMNLP 2019, each example being a type of its own.
        """
        generator, permuted = stream(self.job.seed, "labels"), []
        for task in tasks:
            drawn = torch.randperm(len(task.train), generator=generator).to(task.train.y.device)
            data = replace(task.train, y=task.train.y[drawn])
            permuted.append(replace(task, train=data, test=data))
        predicted = read_each(readout, train, train, permuted).predicted
        labels = torch.cat([task.test.y for task in permuted]).cpu()
        return float((predicted == labels).double().mean())

    def _diagnose(self, planned: Sequence[PlannedMeasurement], test: Matrices) -> _Measured:
        """Yield the diagnostics of each feature."""
        values = {entry.feature: test[entry.feature].values for entry in planned}
        compared = {feature: Compared(x) for feature, x in values.items()}
        diagnostics = {
            feature: {"units": float(x.shape[1]), "dead": dead_units(x), "rank": effective_rank(x)}
            for feature, x in values.items()
        }
        scenario = self.networks.scenario
        for peer in peers_of(self.plan, self.job):
            model = self.offline() if peer == OFFLINE else self.networks.compared_with(peer)
            cuts = self._cuts(model, diagnostics.keys()).of(model)
            peer_matrices = self._matrices(cuts, scenario.test.x)
            for feature, numbers in diagnostics.items():
                numbers[f"cka.{peer}"] = compared[feature].cka(peer_matrices[feature].values)
        for entry in planned:
            yield entry, Measurement(test=scenario.test_examples, values=diagnostics[entry.feature])

    def _matrices(self, cuts: Cuts, x: Value, pooling: Pooling | None = None) -> Matrices:
        """Return the matrix of each feature for inputs x (N, ...); cuts: of the network itself."""
        return feature_matrices(cuts.each, x, budget=self.cache.budget, pooling=pooling)

    def _cuts(self, model: nn.Module, wanted: Collection[str]) -> Cuts:
        """Return the cuts of the requested features, in the order of the plan."""
        features = self.plan.learners[self.job.learner].features[:-1]
        sample = first(self.networks.scenario.test.x, SAMPLE)
        shared = self.networks.cuts(model, features, sample).each
        return Cuts(tuple(cut for cut in shared if cut.name in wanted))

    def _measurement(
        self, head: str, predicted: Tensor, notes: Sequence[str], history: History | None = None
    ) -> Measurement:
        scenario = self.networks.scenario
        return Measurement(
            test=scenario.test_examples,
            predicted={head: scenario.in_callers_order(predicted)},
            history=history,
            notes=tuple(notes),
        )
