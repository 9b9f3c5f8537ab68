"""The source of networks that were trained elsewhere, and the plan of their measurements."""

import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

import torch
from torch import Tensor, nn

from probe.batch import Value, tensors, varied
from probe.by_layer.affordable import with_steps
from probe.by_layer.feature_selection import features_of
from probe.by_layer.fingerprint import data_hash, tensor_hash
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.offline import train_offline
from probe.by_layer.plan import (
    CONTROLS,
    OFFLINE,
    UNTRAINED,
    Plan,
    PlannedLearner,
    PlannedTask,
    probing_fields,
)
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.report import ReportSpec
from probe.by_layer.store import Results
from probe.by_layer.trained_networks import Hashes, TrainedNetworks
from probe.cut.cuts import Cuts, cut_each, find_each
from probe.cut.model_call import Called, ModelCall, explained
from probe.errors import InputError, located, unknown
from probe.files import sha256
from probe.metrics.murata import RETRAIN
from probe.model import Model
from probe.modules import (
    architecture,
    architecture_difference,
    mode,
    restore,
    unwrapped,
)
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.retrain import SAMPLE, refuse_what_no_rule_writes
from probe.seeding import global_stream, stream
from probe.stored_names import Peer
from probe.tasks import Scenario, orders
from probe.training.batch_norm import reestimate, running_norms
from probe.training.evaluation import check_outputs, outputs_of
from probe.training.fresh_weights import (
    Fresh,
    check_fresh,
    fresh_state,
    initialize,
    no_rule_for,
    without_rule,
)
from probe.training.recipe import Recipe
from probe.values.allocation import Storage

KIND = "checkpoints"
"""The kind of the learners of networks that were trained elsewhere."""

_MODULES = ("probe.by_layer.network_source",)


@dataclass(kw_only=True)
class NetworkSource:
    """Networks that were trained elsewhere, and the measurements to make of them.

    Attributes:
        name: The name of the run.
        network_name: The name of the network in tables.
        code: A hash of the code that makes and calls the network.
        weights: The networks, by run and tasks learned.
        model: The user's description of the networks, such as how to call them.
        scenario: The data as T tasks, in base order, on the device.
        orders: A rule for the orders of the tasks, or the tasks from 1 by the order's
            name; None = only the base order.
        features: The names of the features; None = a suggested set.
        probing: The readouts and their steps.
        recipe: The recipe of the retraining and of the offline training.
        train_offline: Whether to train the offline network here.
        storage: The type in which features' values are stored.
        readout_sources: Hashes of user-defined readouts, by name.
        others: The sources of learners whose networks have another architecture.
    """

    name: str
    network_name: str
    code: str = ""
    weights: TrainedNetworks
    model: Model
    scenario: Scenario
    orders: str | Mapping[str, Sequence[int]] | None = None
    features: Sequence[str] | None = None
    probing: ProbingSpec
    recipe: Recipe
    train_offline: bool = False
    storage: Storage = "fp32"
    readout_sources: Mapping[str, str] = field(default_factory=dict)
    others: "dict[str, NetworkSource]" = field(default_factory=dict, init=False)
    _cuts: Cuts | None = field(default=None, init=False)
    _statistics: dict[object, list[dict[str, Tensor]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        weights = self.weights
        builds = self.model.build_by_learner
        _, *names = builds or [""]
        learners = {run.learner for run in weights.runs}
        if absent := set(names) - learners:
            raise unknown("learner", min(absent), learners)
        for name in names:
            self.others[name] = replace(
                self,
                weights=replace(weights.of_learners(name.__eq__), build=builds[name]),
                model=replace(self.model, fresh=builds[name]),
            )
        self.weights = weights.of_learners(lambda name: name not in names)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the measurements; making it reads every network.

        Raises:
            InputError: Tasks, orders or features do not fit the networks, or a file
                cannot be read.
        """
        T = len(self.scenario.tasks)
        runs = self.weights.runs
        learned = [run for run in runs if run.learner not in CONTROLS or run.order]
        _check_names(learned)
        steps = {tasks_seen for run in learned for tasks_seen in runs[run]}
        _check_steps(max(steps), T)
        orders = _orders(
            list(dict.fromkeys(run.order for run in learned)), self.orders, T
        )
        self._check_fresh()
        has_offline = any(run.learner == OFFLINE for run in runs)
        if self.train_offline and has_offline:
            raise InputError(
                "got offline networks and a request to train them: choose one"
            )
        steps_of_learner = dict.fromkeys([run.learner for run in learned], steps)
        floor = not self._without_rule or 0 in steps
        if floor:
            steps.add(0)
        if has_offline or self.train_offline:
            steps_of_learner[OFFLINE] = {T} if self._without_rule else {0, T}
        if floor and self.probing.has_floor:
            steps_of_learner[UNTRAINED] = {0}
        hashes = self.weights.weight_hashes()
        learners = {n: self._learner(n, hashes, s) for n, s in steps_of_learner.items()}
        learners |= {name: self._of_other(name) for name in self.others}
        task_aware = self.model.task_aware
        probing = with_steps(
            self.probing,
            self.recipe,
            lambda: Called(self._blank, self.model.class_call),
            self._sample,
            sum(len(task.train) for task in self.scenario.tasks),
            len(self._features[:-1])
            * sum(len(runs[run].keys() - {0}) for run in learned),
        )
        return Plan(
            name=self.name,
            scenario=self.scenario.name,
            network=self.network_name,
            tasks=tuple(
                PlannedTask(name=t.name, classes=t.classes) for t in self.scenario.tasks
            ),
            learners=learners,
            orders=orders,
            seeds=tuple(sorted({run.seed for run in learned})),
            retraining=self.recipe,
            storage=self.storage,
            **probing_fields(probing, self.readout_sources, task_aware=task_aware),
            report=ReportSpec(heads=("multi" if task_aware else "single",)),
            data=data_hash(self.scenario),
            device=self.device.type,
            torch=str(torch.__version__),
        )

    @property
    def fresh(self) -> Fresh:
        """The source of fresh weights."""
        return self.model.source(self.recipe.init)

    def networks(self, job: Job, results: Results) -> "JobNetworks":
        """Return the networks of a job.

        Args:
            job: The job.
            results: The store of its results.

        Returns:
            The networks.
        """
        source = self.others.get(job.learner, self)
        return JobNetworks(
            source=source,
            job=job,
            scenario=self.scenario.reordered(job.tasks),
            results=results,
            call=source.model.class_call,
            fresh=source.fresh,
        )

    def fresh_network(self, seed: int) -> nn.Module:
        """Return a network with fresh weights, the same for all runs of a seed."""
        model = unwrapped(self.weights.blank())
        fresh = self.fresh
        generator = stream(seed, "init")
        if isinstance(fresh, str):
            initialize(model, fresh, generator)
        else:
            with torch.no_grad():
                restore(model, fresh_state(fresh, generator))
        return model.to(self.device)

    def shared_cuts(
        self, model: nn.Module, features: Sequence[str], sample: Value
    ) -> Cuts:
        """Return the cuts of the first network, which serve the networks of all jobs.

        Args:
            model: The network.
            features: The features to cut at.
            sample: Real inputs, on which the cuts are checked.

        Returns:
            The cuts.
        """
        if self._cuts is None:
            self._cuts = cut_each(
                model,
                features,
                sample,
                self.model.class_call.output,
                self.model.class_call.call,
                self.model.trainable,
                RETRAIN in self.plan.readouts,
            )
        return self._cuts

    @property
    def device(self) -> torch.device:
        """The device of the data, on which networks are measured."""
        return self.scenario.tasks[0].test.y.device

    def check_padded(self, model: nn.Module, outputs: int) -> None:
        """Check that a layer with fewer outputs in a file is the one that gives the classes.

        Args:
            model: The network, whose other outputs are never to be predicted.
            outputs: The number of outputs in the file.

        Raises:
            InputError: It is another layer.
        """
        logits = self._logits(model, self.model.class_call)
        if (
            logits.shape[1] <= outputs
            or logits[:, outputs:].max() >= logits[:, :outputs].min()
        ):
            raise InputError(
                f"its file has a layer with {outputs} outputs that does not give the "
                "classes: build the network that was saved"
            )

    @cached_property
    def _without_rule(self) -> list[str]:
        """The parameters for which no fresh weights can be drawn."""
        return (
            without_rule(self._blank, self.fresh) if isinstance(self.fresh, str) else []
        )

    def _check_fresh(self) -> None:
        """Raise InputError if fresh weights that are needed cannot be drawn."""
        check_fresh(self.fresh, self._blank)
        if self._without_rule and self.train_offline:
            raise no_rule_for(self._without_rule)
        if self._without_rule and RETRAIN in self.probing.readouts:
            cuts = find_each(
                self._blank,
                self._features[:-1],
                self._sample,
                self.model.class_call,
                self.model.trainable,
            )
            refuse_what_no_rule_writes(
                self._blank, [cut.facts for cut in cuts], self.fresh
            )

    def _of_other(self, name: str) -> PlannedLearner:
        other = self.others[name]
        where = architecture_difference(
            architecture(self._blank), architecture(other._blank)
        )
        return other.plan.learners[name].model_copy(update={"own_network": bool(where)})

    def _learner(
        self, name: str, hashes: Hashes, steps: Collection[int]
    ) -> PlannedLearner:
        kind = name if name in CONTROLS else KIND
        weight_hashes = {
            f"{run.order}/{run.seed}": by_tasks_seen
            for run, by_tasks_seen in hashes.items()
            if run.learner == name
        }
        return PlannedLearner(
            kind=kind,
            modules=_MODULES,
            listed=bool(weight_hashes) or kind != UNTRAINED,
            offline=kind in CONTROLS,
            task_aware=self.model.task_aware,
            features=self._features,
            steps=tuple(sorted(steps)),
            network={"own": self.network_name, "source": self._identity},
            settings={"kind": kind},
            training=self.recipe,
            weight_hashes=weight_hashes,
        )

    @cached_property
    def _sample(self) -> Value:
        return varied(self.scenario.test.x, SAMPLE)

    @cached_property
    def _blank(self) -> nn.Module:
        return unwrapped(self.weights.blank()).to(tensors(self._sample)[0].device)

    @cached_property
    def _features(self) -> tuple[str, ...]:
        with located(f"network {self.network_name}"):
            classes = self.scenario.classes
            if self.model.classes is not None:
                logits = self._logits(self._blank, self.model.model_call)
                outputs_of(classes, logits.shape, self.model.classes)
            call = self.model.class_call
            # What no job could measure is refused before all of them.
            with (
                mode(self._blank, training=False),
                explained(self._sample),
                global_stream(stream(0, "check")),
            ):
                check_outputs(partial(call, self._blank), self.scenario.tasks[0].test)
            return features_of(self._blank, call, self._sample, classes, self.features)

    def _logits(self, model: nn.Module, call: ModelCall) -> Tensor:
        with torch.no_grad(), explained(self._sample), mode(model, training=False):
            return call(model, self._sample)

    @cached_property
    def _identity(self) -> str:
        """A hash of the network's code, its architecture, and the ranks of its outputs.

        Code does not show the values in a closure or a partial function. Logits
        themselves would not do, as machines round them differently.
        """
        ranks = self._logits(self._blank, self.model.class_call).argsort(
            dim=1, stable=True
        )
        ranks_hash = tensor_hash({"ranks": ranks})
        fresh = cast(object, self.fresh)
        if not isinstance(self.fresh, str):
            fresh = tensor_hash(dict(fresh_state(self.fresh, stream(0, "build"))))
        identity = (
            self.code,
            str(self._blank),
            fresh,
            self.model.trainable,
            ranks_hash,
        )
        return sha256(repr(identity))


@dataclass(kw_only=True)
class JobNetworks:
    """The networks of one job that were trained elsewhere; only the controls are trained here."""

    source: NetworkSource
    job: Job
    scenario: Scenario
    results: Results
    call: ModelCall
    fresh: Fresh

    def after(self, tasks_seen: int) -> TrainedNetwork:
        """Return the network after a number of tasks."""
        job = self.job
        source = self.source
        cost = None
        notes = list[str]()
        run = Run(job.learner, job.order, job.seed)
        hashes = source.plan.learners[job.learner].hashes_of(job.order, job.seed)
        if tasks_seen in hashes:
            model, fit = source.weights.load(run, tasks_seen, hashes[tasks_seen])
            notes = fit.notes
            model = model.to(source.device)
            if fit.outputs is not None:
                source.check_padded(model, fit.outputs)
        else:
            model = source.fresh_network(job.seed)
            cost = self._train_offline(model) if tasks_seen else None
        if job.kind == UNTRAINED:
            self._reestimate(model)
        learned = len(self.scenario.tasks) if job.offline and tasks_seen else tasks_seen
        classes = (c for task in self.scenario.tasks[:learned] for c in task.classes)
        record = source.weights.records.get(run)
        recorded = None
        if record and tasks_seen in record.rows:
            # Of other outputs, it cannot be compared.
            comparable = source.model.task_aware in (
                record.head == "multi",
                record.called,
            )
            recorded = record.predictions(tasks_seen) if comparable else None
        return TrainedNetwork(
            model=model,
            logits=partial(self.call, model),
            scenario=self.scenario,
            classes_seen=tuple(dict.fromkeys(classes)),
            task_aware=job.task_aware,
            cost=cost,
            recorded=recorded,
            notes=notes,
        )

    def compared_with(self, peer: Peer) -> nn.Module:
        """Return the network to compare with: an earlier or the untrained one."""
        if isinstance(peer, int):
            return self.after(peer).model
        model = self.after(0).model
        self._reestimate(model)
        return model

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of the first network, which serve all others.

        Args:
            model: The network.
            features: The features to cut at.
            sample: Real inputs, on which the cuts are checked.

        Returns:
            The cuts.
        """
        return self.source.shared_cuts(model, features, sample)

    def _reestimate(self, model: nn.Module) -> None:
        """Give an untrained network's batch norm the statistics of the training inputs.

        The initial statistics, which come from no data, would make the floor too low.
        """
        known = self.source._statistics
        norms = running_norms(model)
        key = self.job.tasks, tensor_hash(model.state_dict())
        if key not in known:
            reestimate(model, self.scenario.merged.train.x, self.call)
            known[key] = [deepcopy(norm.state_dict()) for norm in norms]
        for norm, state in zip(norms, known[key], strict=True):
            norm.load_state_dict(state)

    def _train_offline(self, model: nn.Module) -> TrainingCost:
        """Train a new network offline, or load it from its checkpoint; return the cost."""
        checkpoint = self.results.load_checkpoint(self.job.last)
        if checkpoint and checkpoint.learner:
            model.load_state_dict(checkpoint.model)
            return TrainingCost.of_state(dict(checkpoint.learner))
        with located("all tasks"):
            cost = train_offline(
                model, self.call, self.scenario, self.source.recipe, self.job.seed
            )
        self.results.save_checkpoint(self.job.last, model.state_dict(), cost.to_state())
        return cost


def _check_names(runs: Sequence[Run]) -> None:
    """Raise InputError if a learner's or order's name cannot name a folder or job."""
    for name in dict.fromkeys(
        name for run in runs for name in (run.learner, run.order)
    ):
        if name in CONTROLS:
            raise InputError(
                f"the learner {name!r} has the name of a control: rename it"
            )
        if not re.fullmatch(FOLDER_NAME, name):
            raise InputError(
                f"{name[:20]!r} is not a name: use up to 80 letters, digits, _ and -"
            )


def _check_steps(last: int, tasks: int) -> None:
    """Raise InputError unless the last networks are those after all tasks."""
    if last > tasks:
        raise InputError(
            f"a network has learned {last} tasks, but {tasks} are given: add the rest"
        )
    if last < tasks:
        present = (
            f"the last is after task {last}"
            if last
            else "there is only an untrained one"
        )
        raise InputError(
            f"there is no network after all {tasks} tasks, which is needed; "
            f"{present}: add it, name fewer tasks, or write {{index}} for {{task}} if "
            "files count tasks from 0"
        )


def _orders(
    names: Sequence[str], listed: str | Mapping[str, Sequence[int]] | None, tasks: int
) -> dict[str, tuple[int, ...]]:
    """Return the orders of the networks by name, tasks from 0."""
    if listed is None and len(names) > 1:
        raise InputError(
            f"orders {', '.join(names)} have no tasks: use --orders or Model(orders=)"
        )
    if listed is None:
        return {names[0]: tuple(range(tasks))}
    with located("orders"):
        order_by_name = orders(listed, tasks)
    if missing := [name for name in names if name not in order_by_name]:
        raise InputError(
            f"the order {missing[0]!r} is not among {', '.join(order_by_name)}: add it"
        )
    return {name: order_by_name[name] for name in names}
