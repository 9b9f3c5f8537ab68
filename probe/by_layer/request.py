"""The request: given networks, and the measurements to make of them."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from probe.batch import Value, first, tensors
from probe.by_layer.features import features_of
from probe.by_layer.fingerprint import data_hash, tensor_hash
from probe.by_layer.given import GivenNetworks, Weights
from probe.by_layer.plan import (
    CONTROLS,
    OFFLINE,
    UNTRAINED,
    Plan,
    PlannedLearner,
    PlannedTask,
    planned,
)
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.report import ReportSpec
from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall, explained
from probe.errors import InputError, located
from probe.metrics.murata import RETRAIN
from probe.model import Model
from probe.modules import mode, unwrapped
from probe.orders import orders
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.retrain import SAMPLE, refuse_what_no_rule_writes
from probe.seeding import stream
from probe.tasks import Scenario
from probe.training.fresh_weights import Fresh, check_fresh, fresh_state, no_rule_for, without_rule
from probe.training.recipe import Recipe
from probe.training.selected_outputs import outputs_of
from probe.values.allocation import Storage

KIND = "checkpoints"
"""The kind of the learners of given networks."""

_MODULES = ("probe.by_layer.given",)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Given networks, and the measurements to make of them.

    - name: of the run; network: the name of the network in tables; source: a hash of the code that
      makes and calls it;
    - networks, model: the networks, and the way to call them; scenario: the data as T tasks, in
      base order, on the device;
    - orders: of the tasks, a rule or by name, tasks from 1; None = the base order alone;
    - features: by name, None = a suggested set; probing: the readouts and their steps;
    - recipe: of the retraining and the offline training; train_offline: whether to train offline;
    - storage: of features' values; readout_sources: hashes of user-defined readouts, by name.
    """

    name: str
    network: str
    source: str = ""
    networks: Weights
    model: Model
    scenario: Scenario
    orders: str | Mapping[str, Sequence[int]] | None = None
    features: Sequence[str] | None = None
    probing: ProbingSpec
    recipe: Recipe
    train_offline: bool = False
    storage: Storage = "fp32"
    readout_sources: Mapping[str, str] = field(default_factory=dict)

    def given(self) -> GivenNetworks:
        """Return the source of the networks, with the plan of their measurements.

        It reads every network. Raises InputError for tasks, orders and features that do not fit the
        networks, and for files that cannot be read or do not fit.
        """
        return GivenNetworks(
            plan=self._plan(), weights=self.networks, model=self.model, scenario=self.scenario
        )

    def _plan(self) -> Plan:
        T, runs = len(self.scenario.tasks), self.networks.runs
        own = [run for run in runs if run.learner not in CONTROLS or run.order]
        _check_names(own)
        steps = tuple(sorted({tasks_seen for run in own for tasks_seen in runs[run]}))
        _check_steps(steps, T)
        named = _orders(list(dict.fromkeys(run.order for run in own)), self.orders, T)
        self._check_fresh()
        has_offline = any(run.learner == OFFLINE for run in runs)
        if self.train_offline and has_offline:
            raise InputError("offline networks are given, and are also to be trained: choose one")
        floor = not self._unruly or 0 in steps
        hashes = self.networks.hashes()
        every = tuple(sorted({0, *steps})) if floor else steps
        names = dict.fromkeys(run.learner for run in own)
        learners = {name: self._learner(name, hashes, every) for name in names}
        if has_offline or self.train_offline:
            learners[OFFLINE] = self._learner(OFFLINE, hashes, (T,) if self._unruly else (0, T))
        if floor and self.probing.has_floor:
            learners[UNTRAINED] = self._learner(UNTRAINED, hashes, (0,))
        tasks = self.scenario.tasks
        return Plan(
            name=self.name,
            scenario=self.scenario.name,
            network=self.network,
            tasks=tuple(PlannedTask(name=task.name, classes=task.classes) for task in tasks),
            learners=learners,
            orders=named,
            seeds=tuple(sorted({run.seed for run in own})),
            retraining=self.recipe,
            storage=self.storage,
            **planned(self.probing, self.readout_sources, told=self.model.task_aware),
            report=ReportSpec(heads=("multi" if self.model.task_aware else "single",)),
            data=data_hash(self.scenario),
            device=tasks[0].test.y.device.type,
            torch=str(torch.__version__),
        )

    @cached_property
    def _unruly(self) -> list[str]:
        """The parameters for which no fresh weights can be drawn."""
        fresh = self._fresh
        return without_rule(self._blank, fresh) if isinstance(fresh, str) else []

    @property
    def _fresh(self) -> Fresh:
        return self.model.source(self.recipe.init)

    def _check_fresh(self) -> None:
        """Raise InputError if fresh weights that are needed cannot be drawn."""
        check_fresh(self._fresh, self._blank)
        if self._unruly and self.train_offline:
            raise no_rule_for(self._unruly)
        if self._unruly and RETRAIN in self.probing.readouts:
            call, names = self.model.class_call, self._features[:-1]
            cuts = find_each(self._blank, names, self._sample, call, self.model.trainable)
            facts = [cut.facts for cut in cuts]
            refuse_what_no_rule_writes(self._blank, facts, self._fresh)

    def _learner(
        self, name: str, hashes: Mapping[Run, Mapping[int, str]], steps: tuple[int, ...]
    ) -> PlannedLearner:
        kind = name if name in CONTROLS else KIND
        given = {f"{r.order}/{r.seed}": dict(own) for r, own in hashes.items() if r.learner == name}
        return PlannedLearner(
            kind=kind,
            modules=_MODULES,
            listed=bool(given) or kind != UNTRAINED,
            offline=kind in CONTROLS,
            task_aware=self.model.task_aware,
            features=self._features,
            steps=steps,
            network={"own": self.network, "source": self._identity},
            settings={"kind": kind},
            training=self.recipe,
            given=given,
        )

    @cached_property
    def _sample(self) -> Value:
        return first(self.scenario.tasks[0].test.x, SAMPLE)

    @cached_property
    def _blank(self) -> nn.Module:
        return unwrapped(self.networks.blank()).to(tensors(self._sample)[0].device)

    @cached_property
    def _features(self) -> tuple[str, ...]:
        with located(f"network {self.network}"):
            classes = self.scenario.classes
            if self.model.classes is not None:
                outputs_of(classes, self._logits(self.model.model_call).shape, self.model.classes)
            call = self.model.class_call
            return features_of(self._blank, call, self._sample, classes, self.features)

    def _logits(self, call: ModelCall) -> Tensor:
        with torch.no_grad(), explained(self._sample), mode(self._blank, training=False):
            return call(self._blank, self._sample)

    @cached_property
    def _identity(self) -> str:
        """A hash of the network's code, its architecture, and the ranks of its outputs.

        Code alone does not show the values in a closure or a partial function. Logits themselves
        would not do, as machines round them differently.
        """
        ranks = self._logits(self.model.class_call).argsort(dim=1, stable=True)
        fresh: object = self._fresh
        if not isinstance(self._fresh, str):
            fresh = tensor_hash(dict(fresh_state(self._fresh, stream(0, "build"))))
        ranked = tensor_hash({"ranks": ranks})
        told = (self.source, str(self._blank), fresh, self.model.trainable, ranked)
        return hashlib.sha256(repr(told).encode()).hexdigest()


def _check_names(runs: Sequence[Run]) -> None:
    """Raise InputError for names of learners and orders that no folder or job can have."""
    for name in dict.fromkeys(name for run in runs for name in (run.learner, run.order)):
        if name in CONTROLS:
            raise InputError(
                f"the checkpoints are of a learner {name!r}, the name of a control: rename it, and "
                f"give the offline networks by offline"
            )
        if not re.fullmatch(FOLDER_NAME, name):
            raise InputError(
                f"{name[:20]!r} becomes part of a folder's name: use letters, digits, _ and -, 80 "
                f"at most"
            )


def _check_steps(steps: Sequence[int], tasks: int) -> None:
    """Raise InputError unless there is a network after all tasks, and none after more."""
    if steps[-1] > tasks:
        raise InputError(
            f"there is a network after {steps[-1]} tasks, and there are {tasks} tasks: name all "
            f"tasks, or remove it"
        )
    if steps[-1] < tasks:
        last = "only an untrained network" if steps[-1] == 0 else f"none after task {steps[-1]}"
        raise InputError(
            f"there is no network after all {tasks} tasks ({last}), which is the one to be "
            f"measured: add it, name fewer tasks, or write {{index}} for {{task}} if your files "
            f"count tasks from 0"
        )


def _orders(
    names: Sequence[str], given: str | Mapping[str, Sequence[int]] | None, tasks: int
) -> dict[str, tuple[int, ...]]:
    """Return the orders of the networks by name, tasks from 0."""
    if given is None and len(names) > 1:
        raise InputError(
            f"the networks are of the orders {', '.join(names)}: give the tasks of each, by "
            f"--orders FILE or Model(orders=...)"
        )
    if given is None:
        return {names[0]: tuple(range(tasks))}
    with located("orders"):
        known = orders(given, tasks)
    if missing := [name for name in names if name not in known]:
        raise InputError(
            f"the networks are of an order {missing[0]!r}, and the orders are {', '.join(known)}: "
            f"name it there"
        )
    return {name: known[name] for name in names}
