"""The engine: networks of one run go in, stored predictions come out.

`measure` takes the networks of a job after each number of tasks learned (`Source`:
learned now, read from files, or in memory), tests them, trains the readouts downstream
of their features (`LayerProbe`), and stores each measurement as soon as it is made
(`Results`: a run directory or memory). It is independent of processes, locks, learners
and files.

All networks share the cuts of the first. All features of a network share one pass over
the data for readouts, diagnostics and similarity, and one for the values that tails are
retrained on; R comes from a pass of the network as it is over the test data.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from typing import cast

import torch
from torch import Tensor, nn

from probe.analysis.similarity import Compared
from probe.analysis.units import Activity, effective_rank
from probe.batch import Value, tensors, varied
from probe.by_layer.head_predictions import Head
from probe.by_layer.jobs import Job, keys_of, peers_of, permutes_labels
from probe.by_layer.measurement import HALF, Key, Measurement
from probe.by_layer.networks import Networks, Source, TrainedNetwork
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.probing import DIAGNOSTICS
from probe.by_layer.store import Results
from probe.cut.cuts import Cuts
from probe.cut.interface import CutFacts
from probe.errors import located
from probe.model import Model
from probe.modules import copied, unwrapped
from probe.notes import of_classes, of_predictions
from probe.readouts.matrix import Matrices, feature_matrices
from probe.readouts.pooling import Pooling
from probe.readouts.readout import READOUTS, Linear, Readout, read_each
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.rewinding.blocks import (
    Blocks,
    Changed,
    Earlier,
    blocks_of,
    changed_blocks,
    rewound,
)
from probe.rewinding.parts import matched_blocks
from probe.seeding import PROCESS, permutation, stream
from probe.stored_names import Peer, PutBack, similarity_name
from probe.tasks import Scenario, Task
from probe.training.batch_norm import reestimate
from probe.training.evaluation import check_independence
from probe.training.history import History
from probe.values.allocation import CacheSettings

OfflineNetwork = Callable[[], nn.Module]
"""Function that returns the network of the offline job of the same seed, on the device."""

_Measured = Iterator[tuple[Key, Measurement]]

_COMPARED = 256  # examples on which the units of two networks are compared
_SHARE = (
    8  # of the bytes of the data: earlier networks' matrices are kept within one part
)


def measure(
    source: Source,
    job: Job,
    results: Results,
    cache: CacheSettings,
    offline: OfflineNetwork,
) -> Iterator[Key]:
    """Make a job's missing measurements, and yield the key of each as it is stored.

    All randomness comes from named streams of the job's seed, and torch runs on one
    thread. The results are therefore bit for bit the same on any number of cores, and
    however often the job is interrupted.

    Args:
        source: The networks, and the plan of their measurements.
        job: One job of the plan; `jobs.keys_of` lists its keys.
        results: The store of the measurements, and of the networks that are trained.
        cache: Memory and disk for features' values.
        offline: A function that returns the offline network of the same seed, to
            compare the job's last network with.

    Yields:
        The key of each measurement, once it is stored.

    Raises:
        InputError: A network diverges; the message names the job.
    """
    networks = source.networks(job, results)
    with located(str(job)), one_thread():
        plan = source.plan
        probe = LayerProbe(
            plan=plan, job=job, networks=networks, cache=cache, offline=offline
        )
        keys = keys_of(plan, job)
        finished = set(results.measurements())
        start = time.perf_counter()
        for tasks_seen in job.steps:
            missing = [
                k for k in keys if k.tasks_seen == tasks_seen and k not in finished
            ]
            if not missing:
                continue
            network = networks.after(tasks_seen)
            with located(f"after {_last_task(networks.scenario, job, tasks_seen)}"):
                for key, measurement in probe.measure(network, missing):
                    begun = start
                    start = time.perf_counter()
                    results.write(key, replace(measurement, seconds=start - begun))
                    yield key
        results.finish()


def offline_network(source: Source, job: Job, results: Results) -> nn.Module:
    """Return the network of an offline job, training it first if necessary.

    Args:
        source: The source of the networks.
        job: The offline job.
        results: The store of its results.

    Returns:
        The network.
    """
    with located(str(job)), one_thread():
        return source.networks(job, results).after(job.last).model


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread inside the block, and other threads of this process to none."""
    with PROCESS:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _last_task(scenario: Scenario, job: Job, tasks_seen: int) -> str:
    """Return the name of the last task learned, for error messages."""
    if not tasks_seen:
        return "no task"
    if job.offline or job.without:
        return "all tasks"
    return (
        f"task {scenario.tasks[tasks_seen - 1].name} ({tasks_seen} of "
        f"{len(scenario.tasks)})"
    )


@dataclass(kw_only=True)
class LayerProbe:
    """A probe of the features of a job's networks, which trains and tests the readouts."""

    plan: Plan
    job: Job
    networks: Networks
    cache: CacheSettings
    offline: OfflineNetwork
    _earlier: dict[Peer, Matrices] = field(default_factory=dict, init=False)

    def measure(self, network: TrainedNetwork, keys: Sequence[Key]) -> _Measured:
        """Make measurements of a network, and yield the key of each with its result.

        The model is not changed. Measurements with re-estimated batch norm come last.

        Args:
            network: The network to measure.
            keys: The measurements to make.

        Yields:
            Each key with its measurement.
        """
        heads: dict[str, Head | None] = {"": None, self._features[-1]: "multi"}
        hybrids = [key for key in keys if key.readout.put_back]
        trained = [key for key in keys if not key.readout.put_back]
        outputs = [key for key in trained if key.feature in heads]
        inner = [key for key in trained if key.feature not in heads]
        # The first and the last network show what is wrong with all.
        check = keys[0].tasks_seen in (self.job.steps[0], self.job.last)
        yield from (
            (key, network.evaluate(heads[key.feature], check)) for key in outputs
        )
        yield from self._measure_hybrids(network, hybrids)
        unchanged = [key for key in inner if not key.readout.reestimates]
        yield from self._measure(network.model, unchanged, keys[0].tasks_seen)
        if mixed := [key for key in inner if key.readout.reestimates]:
            model = copied(network.model)
            reestimate(model, self.networks.scenario.merged.train.x, self.networks.call)
            yield from self._measure(model, mixed)

    def _measure_hybrids(
        self, network: TrainedNetwork, keys: Sequence[Key]
    ) -> _Measured:
        """Yield measurements of the network with blocks of each earlier one put back."""
        if not keys:
            return
        model = unwrapped(network.model)
        facts = self._facts(network.model)
        blocks = blocks_of(model, facts.values(), self._features[-1])
        by_position = attrgetter("readout.since")
        for j, of_network in groupby(sorted(keys, key=by_position), by_position):
            before = unwrapped(self.networks.compared_with(j))
            earlier = Earlier.of(before, model)
            changed = changed_blocks(blocks, earlier, model)
            for key in of_network:
                if key.readout.put_back == PutBack.SETS:
                    few = varied(self.networks.scenario.tasks[j - 1].test.x, _COMPARED)
                    run = partial(self.networks.call, x=few)
                    limit = self.plan.hybrids
                    seed = self.job.seed
                    if self.plan.blocks:
                        patterns = matched_blocks(model, self.plan.blocks)
                        yield (
                            key,
                            network.rewound(before, patterns, {}, run, j, limit, seed),
                        )
                    else:
                        yield (
                            key,
                            network.rewound(before, blocks, facts, run, j, limit, seed),
                        )
                    continue
                contents = self._put_back(key, changed, blocks)
                name = replace(key.readout, put_back=PutBack.NOTHING, since=0)
                with rewound(model, contents, earlier):
                    [(_, measurement)] = self._measure(
                        network.model, [Key(0, key.feature, name)]
                    )
                yield key, measurement

    def _put_back(
        self, key: Key, changed: Mapping[str, Changed], blocks: Blocks
    ) -> list[Changed]:
        """Return the blocks that a readout reads of the earlier network: upstream, or its own."""
        if key.readout.put_back == PutBack.BLOCK:
            return [changed[key.feature]] if key.feature in changed else []
        # Attributes that belong to no block act from the input on.
        upstream = {
            *self._features[: self._features.index(key.feature)],
            *changed.keys() - blocks,
        }
        return [content for name, content in changed.items() if name in upstream]

    def _facts(self, model: nn.Module) -> dict[str, CutFacts]:
        """Return the facts on the cuts of a network at its hidden features, by depth."""
        if len(self._features) < 2:
            return {}
        facts = [cut.facts for cut in self._shared(model).each]
        return {cut.name: cut for cut in sorted(facts, key=lambda cut: cut.position)}

    @property
    def _features(self) -> tuple[str, ...]:
        return self.plan.learners[self.job.learner].features

    def _measure(
        self, model: nn.Module, keys: Sequence[Key], peer: int | None = None
    ) -> _Measured:
        if not keys:
            return
        retrained = [key for key in keys if key.readout.is_retraining]
        cuts = self._cuts(model, {key.feature for key in keys}, tails=bool(retrained))
        if retrained:
            yield from self._retrain(model, cuts, retrained)
        groups: dict[Pooling, list[Key]] = {}
        unreadable = {cut.facts.name for cut in cuts.each if not cut.facts.value}
        nothing = Measurement(test=self.networks.scenario.test_examples)
        for key in keys:
            if not key.readout.is_retraining and key.feature in unreadable:
                yield key, nothing
            elif not key.readout.is_retraining:
                groups.setdefault(self._pooling(key), []).append(key)
        # The diagnostics come last, and share the matrices of the readouts without a
        # pooling.
        for pooling, group in sorted(
            groups.items(), key=lambda item: item[0] == Pooling()
        ):
            yield from self._read_out(
                cuts.at({key.feature for key in group}), pooling, group, peer
            )

    def _read_out(
        self, cuts: Cuts, pooling: Pooling, group: Sequence[Key], peer: int | None
    ) -> _Measured:
        """Yield the readouts and diagnostics that share a rule for wide values."""
        test = self.networks.scenario.test
        activities = dict[str, Activity]()
        diagnoses = any(key.readout.base == DIAGNOSTICS for key in group)
        matrices = self._matrices(
            cuts, test.x, pooling, activities if diagnoses else None
        )
        if (
            peer is not None
            and peer in peers_of(self.plan, self.job)
            and pooling == Pooling()
        ):
            self._keep(peer, matrices)
        if peer == self.job.last:
            check_independence(cuts.named_values, test.x, test.y)
        finite = {feature for feature, (x, _) in matrices.items() if x.isfinite().all()}
        nothing = Measurement(test=self.networks.scenario.test_examples)
        yield from ((key, nothing) for key in group if key.feature not in finite)
        group = [key for key in group if key.feature in finite]
        diagnosed = [key for key in group if key.readout.base == DIAGNOSTICS]
        fitted = [key for key in group if key.readout.base != DIAGNOSTICS]
        if fitted:
            train = self.networks.scenario.merged.train.x
            yield from self._fit(fitted, self._matrices(cuts, train, pooling), matrices)
        if diagnosed:
            yield from self._diagnose(diagnosed, activities, matrices)

    def _keep(self, peer: Peer, test: Matrices) -> None:
        """Keep a network's matrices to compare the last one with, if they are small."""
        kept = [
            x.nbytes for one in (test, *self._earlier.values()) for x, _ in one.values()
        ]
        parts = self.networks.scenario.merged.train.x, self.networks.scenario.test.x
        if (
            sum(kept)
            <= sum(x.nbytes for part in parts for x in tensors(part)) // _SHARE
        ):
            self._earlier[peer] = test

    def _pooling(self, key: Key) -> Pooling:
        """Return the pooling of the matrix that a measurement needs."""
        readout = None if key.readout.base == DIAGNOSTICS else self._readout(key)
        return readout.pooling if isinstance(readout, Linear) else Pooling()

    def _readout(self, key: Key) -> Readout:
        """Return the readout that is fitted to the feature."""
        settings = self.plan.readouts[key.readout.planned].settings
        return cast(Readout, READOUTS[key.readout.base].readout(**settings))

    def _retrain(self, model: nn.Module, cuts: Cuts, keys: Sequence[Key]) -> _Measured:
        """Yield partial retrainings: all features share one pass, all budgets one training."""
        scenario = self.networks.scenario
        data = scenario.merged
        key_of_tail = {(key.feature, key.readout.budget): key for key in keys}
        settings = RetrainSettings(
            recipe=self.plan.retraining,
            seed=self.job.seed,
            cache=self.cache,
            multiples=tuple(sorted({key.readout.budget for key in keys})),
        )
        for tail in retrain_each(
            Model(model, fresh=self.networks.fresh),
            cuts.at({key.feature for key in keys}),
            data.train,
            data.test,
            scenario.classes,
            settings,
        ):
            # A feature may lack fewer budgets than another.
            if key := key_of_tail.get((tail.feature, tail.multiple)):
                measurement = self._measurement(
                    "single",
                    tail.predicted,
                    (*self._class_notes, *tail.notes),
                    tail.history,
                )
                if tail.at_half is not None:
                    half = scenario.in_callers_order(tail.at_half)
                    measurement = replace(
                        measurement, predicted={**measurement.predicted, HALF: half}
                    )
                yield key, measurement

    @cached_property
    def _class_notes(self) -> list[str]:
        scenario = self.networks.scenario
        labels = ((task.train.y, task.test.y) for task in scenario.tasks)
        return of_classes(labels, scenario.classes)

    def _fit(self, keys: Sequence[Key], train: Matrices, test: Matrices) -> _Measured:
        """Yield the readouts that are fitted to the features' matrices."""
        scenario = self.networks.scenario
        for key in keys:
            readout = self._readout(key)
            features, how = train[key.feature]
            task_aware = self.plan.readouts[key.readout.planned].task_aware
            tasks = scenario.tasks if task_aware else [scenario.merged]
            result = read_each(
                readout, features, test[key.feature][0], tasks, self.job.seed
            )
            notes = [
                *self._class_notes,
                *(
                    []
                    if how.startswith("flattened")
                    else [f"{key.readout.planned} reads {how}"]
                ),
                *result.notes,
                *of_predictions(result.predicted, scenario.test.y.cpu()),
            ]
            head = "multi" if task_aware else "single"
            measurement = self._measurement(head, result.predicted, notes)
            if permutes_labels(self.plan, self.job, key):
                measurement = replace(
                    measurement,
                    values={
                        "control": self._permuted_accuracy(readout, features, tasks)
                    },
                )
            yield key, measurement

    def _permuted_accuracy(
        self, readout: Readout, train: Tensor, tasks: Sequence[Task]
    ) -> float:
        """Return the accuracy of a readout that is fitted to, and tested on, permuted labels.

        Source: Hewitt & Liang, EMNLP 2019, each example being a type of its own.
        """
        generator = stream(self.job.seed, "labels")
        permuted = []
        for task in tasks:
            drawn = permutation(len(task.train), generator).to(task.train.y.device)
            data = replace(task.train, y=task.train.y[drawn])
            permuted.append(replace(task, train=data, test=data))
        predicted = read_each(readout, train, train, permuted).predicted
        labels = torch.cat([task.test.y for task in permuted]).cpu()
        return float((predicted == labels).double().mean())

    def _diagnose(
        self, keys: Sequence[Key], activities: Mapping[str, Activity], test: Matrices
    ) -> _Measured:
        """Yield the diagnostics of each feature."""
        values = {key.feature: test[key.feature][0] for key in keys}
        compared = {feature: Compared(x) for feature, x in values.items()}
        scenario = self.networks.scenario
        diagnostics = {
            name: activities[name].shares()
            | {"width": float(x.shape[1]), "rank": effective_rank(x)}
            for name, x in values.items()
        }
        for peer in peers_of(self.plan, self.job):
            peer_matrices = self._earlier.pop(peer, {})
            if not diagnostics.keys() <= peer_matrices.keys():
                model = (
                    self.offline()
                    if peer == OFFLINE
                    else self.networks.compared_with(peer)
                )
                peer_matrices = self._matrices(
                    self._cuts(model, diagnostics.keys()), scenario.test.x
                )
            for feature, numbers in diagnostics.items():
                peer_values = peer_matrices[feature][0]
                cka = min(compared[feature].cka(peer_values), math.nextafter(1, 0))
                # Exactly 1 only of the same values, as of a frozen layer.
                numbers[similarity_name(peer)] = (
                    1.0 if torch.equal(values[feature], peer_values) else cka
                )
        for key in keys:
            yield (
                key,
                Measurement(
                    test=scenario.test_examples, values=diagnostics[key.feature]
                ),
            )

    def _matrices(
        self,
        cuts: Cuts,
        x: Value,
        pooling: Pooling | None = None,
        activities: dict[str, Activity] | None = None,
    ) -> Matrices:
        """Return the matrix of each feature for inputs x (N, ...); cuts: of the network itself."""
        return feature_matrices(
            cuts.each, x, None, self.cache.budget, pooling, activities
        )

    def _cuts(
        self, model: nn.Module, wanted: Collection[str], tails: bool = False
    ) -> Cuts:
        """Return a network's cuts at the requested features, in the order of the plan."""
        return replace(self._shared(model).at(wanted).of(model, tails), current=True)

    def _shared(self, model: nn.Module) -> Cuts:
        """Return the cuts of the first network at all features."""
        sample = varied(self.networks.scenario.test.x, SAMPLE)
        return self.networks.cuts(model, self._features[:-1], sample)

    def _measurement(
        self,
        head: str,
        predicted: Tensor,
        notes: Sequence[str],
        history: History | None = None,
    ) -> Measurement:
        scenario = self.networks.scenario
        return Measurement(
            test=scenario.test_examples,
            predicted={head: scenario.in_callers_order(predicted)},
            history=history,
            notes=tuple(notes),
        )
