"""Networks trained by the learners of a study: the source for its plan.

A learner starts from a fresh network and learns one task after another. After every
task the model's weights and the rest of the learner's state (exemplars, importances,
earlier models) are saved as tensors in a checkpoint. A restored learner continues as if
it had never been stopped, to the bit: every random number comes from a named stream of
the job's seed and does not depend on earlier draws. A checkpoint may come from an
earlier version of the code, or be damaged in a way that its hash does not show. So it
is loaded into a fresh learner and checked; one that does not fit is set aside, and an
earlier one is tried. `probe.by_layer.store` keeps files and hashes.

Training on the first task is done once for all learners that train on it in the same
way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import nn

from probe.batch import Value, tensors
from probe.by_layer.code import code_hash
from probe.by_layer.jobs import Job, inherited_keys
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.offline import clock_on, train_offline
from probe.by_layer.plan import UNTRAINED, Plan
from probe.by_layer.store import Results, Store
from probe.cut.cuts import Cuts, cut_each
from probe.cut.model_call import ModelCall
from probe.errors import located
from probe.examples import Examples
from probe.extensions import ReadoutEntry
from probe.modules import architecture
from probe.readouts.readout import READOUTS
from probe.seeding import global_stream, stream
from probe.stored_names import Peer
from probe.task_aware import append_task, restrict_to_task
from probe.tasks import Scenario, Task
from probe.training.batch_norm import reestimate
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import Fresh, initialize
from probe.training.history import never_left
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import bare, draw_weights, fresh_source, network_for
from scenarios.study.spec import Study
from scenarios.user_objects import USER_NETWORKS

# The last cuts that this process has made, by features, call and architecture.
_LAST: dict[object, Cuts] = {}

# Errors of a failing device; the second is a nameless RuntimeError in older torch.
_DEVICE_FAILED = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", MemoryError),
)


def restored_learner(
    fresh: Callable[[], Learner], tasks_seen: int, past: Sequence[Task], store: Store
) -> tuple[Learner, TrainingCost | None] | None:
    """Restore a learner from the checkpoint after some tasks, with the cost of the last task.

    If the checkpoint no longer has the learner's state, only the model is restored.
    Errors of a failing device, such as running out of memory, are raised.

    Args:
        fresh: A function that makes a learner that has learned nothing.
        tasks_seen: The number of tasks learned.
        past: The tasks learned, on the learner's device.
        store: The store of the job's results.

    Returns:
        The learner and the cost; None if there is no checkpoint, or it cannot be
        restored and was set aside.
    """
    saved = store.load_checkpoint(tasks_seen)
    if saved is None:
        return None
    # Moved before it is tried: a device that fails says nothing about the checkpoint.
    device = past[0].train.y.device
    model = {name: tensor.to(device) for name, tensor in saved.model.items()}
    state = {name: tensor.to(device) for name, tensor in (saved.learner or {}).items()}
    # A new learner for each attempt: one that was restored in part is not used.
    learner = fresh()
    try:
        # Removed first: the rest must be exactly the learner's state.
        cost = None if saved.learner is None else TrainingCost.of_state(state)
        # Strict: it raises for a weight that is missing, superfluous or of another
        # shape.
        learner.model.load_state_dict(model)
        if cost:
            learner.restore(state, past)
            if learner.state().keys() != state.keys():
                raise ValueError("it holds what the learner does not keep")
    # The checkpoint may be intact: it is not set aside, and the job is tried again.
    except _DEVICE_FAILED:
        raise
    except (RuntimeError, LookupError, ValueError, TypeError, OverflowError) as error:
        reason = f"the learner cannot be restored from it ({type(error).__name__})"
        store.set_checkpoint_aside(tasks_seen, reason)
        return None
    store.continue_from(saved)
    return learner, cost


def train_first_task(
    store: Store, learner: Learner, task: Task, data: Examples, meter: OpsMeter
) -> float:
    """Train a learner on its first task, or load what an earlier training on it gave.

    The weights, the losses and the counts of operations are loaded.

    Args:
        store: The store of the training, see `first_task_store`; two processes that
            train at the same time write the same files.
        learner: The learner.
        task: The first task.
        data: The examples to train on.
        meter: The counter of multiply-adds.

    Returns:
        The seconds that a loaded training took, 0 for a new training.
    """
    saved = store.load_checkpoint(1)
    if saved and saved.learner and saved.code == store.code:
        learner.model.load_state_dict(saved.model)
        total, steps = saved.learner["counts"].tolist()
        meter.total += total
        meter.steps += steps
        seconds, *losses = saved.learner["seconds and losses"].tolist()
        learner.losses = tuple(losses)
        return float(seconds)
    before = meter.total
    now = clock_on(task.train.y.device)
    start = now()
    learner.train(task, data, meter)
    state = {
        "counts": torch.tensor([meter.total - before, meter.steps]),
        "seconds and losses": torch.tensor(
            [now() - start, *learner.losses], dtype=torch.float64
        ),
    }
    store.save_checkpoint(1, learner.model.state_dict(), state)
    return 0.0


@dataclass
class _SharedTraining:
    """A training on the first task that is loaded if another job has done it.

    Attributes:
        store: The store of the training.
        learner: The learner.
        loaded_seconds: The seconds that a loaded training took, 0 for a new one.
    """

    store: Store
    learner: Learner
    loaded_seconds: float = 0.0

    def __call__(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        """Train the learner, or load the training."""
        self.loaded_seconds = train_first_task(
            self.store, self.learner, task, data, meter
        )


def first_task_store(
    plan: Plan, job: Job, learner: Learner, store: Store
) -> Store | None:
    """Return the store of the training on a job's first task, kept for later jobs.

    Args:
        plan: The plan.
        job: A job of the plan.
        learner: The job's learner.
        store: The store of the job's results.

    Returns:
        The store, shared by all jobs with the same first training; None if the first
        task cannot be shared, the job leaves out task 1, or layers are frozen from the
        start.
    """
    loss = vars(type(learner)).get("first_task")
    if loss is None or job.without == 1 or learner.settings.frozen_at(1):
        return None
    record = plan.record(job.learner, job.order, job.tasks, job.seed)
    for key in ("learner", "retraining", "storage"):
        record.pop(key, None)
    code = code_hash((__name__, "scenarios.learners.continual"))
    record["first task"] = [loss, getattr(learner.settings, "loss_classes", "")]
    return Store(store.root, "first-task", record, code)


def network_of(study: Study, learner: str, scenario: Scenario) -> nn.Module:
    """Build a learner's network, uninitialized, for the scenario as the learner sees it.

    Args:
        study: The study.
        learner: The name of the learner.
        scenario: The learner's view of the scenario (its kind's `view`); only the shape
            of an input, K and T are used.

    Returns:
        The study's network, unless the learner has its own architecture; on the CPU,
        and the same for every seed: initial weights are drawn later.

    Raises:
        InputError: The network cannot take the data.
    """
    x = scenario.tasks[0].train.x
    settings = study.all_learners[learner]
    kind = LEARNERS[settings.kind]
    if not kind.own_features:
        return network_for(study.network.name, x, scenario.classes)
    shape = tensors(x)[0].shape[1:]
    # torch's modules draw initial weights from the global generator, which is restored
    # afterwards.
    with global_stream(stream(0, "build")):
        return kind.network(settings, shape, scenario.classes, len(scenario.tasks))


@dataclass
class LearnedNetworks:
    """The networks of one job, learned one task after the other.

    Attributes:
        source: The source of the networks of all jobs.
        job: The job.
        view: The tasks in executed order, as the learner sees them.
        scenario: The tasks in executed order as readouts see them, with the task id if
            the learner receives it.
        call: The call of the network itself, which a learner calls as `model(x)`.
        fresh: The source of fresh weights, None = the recipe's rule.
        store: The store of the job's results.
    """

    source: "StudyNetworks"
    job: Job
    view: Scenario
    scenario: Scenario
    call: ModelCall
    fresh: Fresh | None
    store: Store
    _now: tuple[Learner, TrainingCost | None] | None = field(default=None, init=False)

    @property
    def readouts(self) -> Mapping[str, ReadoutEntry]:
        """The readouts that the plan may name: this package's, and those of loaded files."""
        return READOUTS

    def after(self, step: int) -> TrainedNetwork:
        """Return the learner after `step` tasks, from a checkpoint or by learning."""
        n_learned = self._steps.index(step)
        learner, cost = self._latest(n_learned)
        while learner.learned < n_learned:
            cost = self._learn_next(learner)
        self._now = learner, cost
        return TrainedNetwork(
            model=bare(learner.model)[0],
            logits=learner.scores,
            scenario=self.view,
            classes_seen=learner.seen,
            task_aware=self.job.task_aware,
            cost=cost,
        )

    def peer_network(self, peer: Peer) -> nn.Module:
        """Return the network of a peer: an earlier one, or the untrained one."""
        if not isinstance(peer, int):
            model = self._fresh().model
            reestimate(model, self.view.merged.train.x)
            return bare(model)[0]
        past = self._tasks[: self._steps.index(peer)]
        restored = restored_learner(self._fresh, peer, past, self.store)
        if restored:
            return bare(restored[0].model)[0]
        # A run of fewer measurements may have deleted the checkpoint. A copy of this
        # object learns again, and leaves the learner of this object alone.
        return replace(self).after(peer).model

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of a network, made once in a row for all of its architecture and call.

        Args:
            model: The network.
            features: The features to cut at.
            sample: The real inputs on which the cuts are checked.

        Returns:
            The cuts.
        """
        # A task-aware call is a function of its own for each job.
        key = tuple(features), self.call, frozenset(architecture(model).items())
        if key not in _LAST:
            _LAST.clear()
            _LAST[key] = cut_each(
                model, features, sample, self.call.output, self.call.call
            )
        return _LAST[key]

    @property
    def _tasks(self) -> Sequence[Task]:
        """The tasks to learn; an offline learner learns all of them as one."""
        if self.job.offline:
            return (self.view.merged,)
        return [t for k, t in enumerate(self.view.tasks, 1) if k != self.job.without]

    @property
    def _steps(self) -> Sequence[int]:
        """The numbers of tasks seen: before any task is learned, then after each one.

        The last is T, even if one task is left out.
        """
        if self.job.without:
            return (*range(self.job.last - 1), self.job.last)
        return self.job.steps

    def _fresh(self) -> Learner:
        """Return a learner that has learned nothing, its weights drawn from the job's seed."""
        study = self.source.study
        job = self.job
        kind = LEARNERS[self.job.kind]
        recipe = study.recipe_of(job.learner)
        # Only from the seed: all learners and orders of a seed start from the same
        # weights.
        generator = stream(job.seed, "init")
        model = network_of(study, job.learner, self.view)
        if job.own_network:
            initialize(model, recipe.init, generator)
        else:
            draw_weights(model, study.network.name, recipe.init, generator)
        device = self.view.tasks[0].train.y.device
        learner = kind(
            model.to(device), recipe, study.all_learners[job.learner], job.seed
        )
        if job.kind == UNTRAINED:
            # The initial statistics, which come from no data, would make the floor too
            # low.
            reestimate(learner.model, self.view.merged.train.x)
        return learner

    def _latest(self, n_tasks: int) -> tuple[Learner, TrainingCost | None]:
        """Return a learner after up to `n_tasks` tasks, and the cost of its last task, if known.

        It is the one at hand, or restored from the latest checkpoint, or has learned
        nothing: whichever has learned the most tasks.
        """
        for learned in range(n_tasks, -1, -1):
            if self._now and self._now[0].learned == learned:
                return self._now
            past = self._tasks[:learned]
            step = self._steps[learned]
            if learned:
                restored = restored_learner(self._fresh, step, past, self.store)
                if restored and restored[0].learned == learned:
                    return restored
        return self._fresh(), None

    def _learn_next(self, learner: Learner) -> TrainingCost:
        """Let a learner learn its next task, and save it; return the cost."""
        position = learner.learned + 1
        task = self._tasks[position - 1]
        with located(f"task {task.name} ({position} of {len(self._tasks)})"):
            if self.source.study.scenario.task_aware and learner.offline:
                model = bare(learner.model)[0]
                cost = train_offline(
                    model, self.call, self.scenario, learner.recipe, self.job.seed
                )
                learner.learned = 1
                learner.seen = task.classes
            else:
                cost = self._learn(learner, task)
        # The checkpoint comes first: a job killed before the measurement does not
        # repeat the task.
        state = {**learner.state(), **cost.to_state()}
        self.store.save_checkpoint(
            self._steps[position], learner.model.state_dict(), state
        )
        if self.source.study.probing.checkpoints == "needed":
            # A resumed run goes on from the checkpoint just saved, so the one before is
            # dropped; its model stays if comparisons will read it.
            probing = self.source.study.probing
            is_compared = (
                probing.diagnostics
                or probing.hybrids
                or inherited_keys(self.source.plan, self.job)
            ) and not self.job.without
            self.store.drop_checkpoint(self._steps[position - 1], model=not is_compared)
        return cost

    def _learn(self, learner: Learner, task: Task) -> TrainingCost:
        """Let a learner learn a task; return the cost and the time, loaded training included."""
        now = clock_on(task.train.y.device)
        training = None
        store = first_task_store(self.source.plan, self.job, learner, self.store)
        if store and not learner.learned:
            training = _SharedTraining(store, learner)
        start = now()
        cost = learner.learn(task, training)
        seconds = now() - start
        if training:
            seconds += training.loaded_seconds
        return TrainingCost(
            cost=cost, seconds=seconds, stuck=never_left(learner.losses)
        )


@dataclass(kw_only=True)
class StudyNetworks:
    """The source of the networks of a study.

    Attributes:
        plan: The plan of the measurements.
        study: The study.
        scenario: The tasks of the study in base order, with the data on the device.
    """

    plan: Plan
    study: Study
    scenario: Scenario

    def networks(self, job: Job, results: Results) -> LearnedNetworks:
        """Return the networks of a job.

        Args:
            job: The job.
            results: The store of the job's results, for checkpoints.

        Returns:
            The networks.
        """
        study = self.study
        network = self.study.network.name
        # First the order, then the view: a learner's view may depend on which task
        # comes first.
        view = scenario = LEARNERS[job.kind].view(self.scenario.reordered(job.tasks))
        entry = USER_NETWORKS.get(network)
        call = ModelCall()
        fresh = None
        if not job.own_network:
            fresh = fresh_source(network, study.retraining_recipe.init)
            call = ModelCall(call=entry.call, output=entry.output) if entry else call
        if study.scenario.task_aware:
            scenario, call = _task_aware(view, call)
        return LearnedNetworks(
            self, job, view, scenario, call, fresh, cast(Store, results)
        )


def _task_aware(view: Scenario, call: ModelCall) -> tuple[Scenario, ModelCall]:
    """Return a scenario whose inputs hold the task id, and a call in which its classes compete."""
    tasks = tuple(
        replace(task, train=append_task(task.train, k), test=append_task(task.test, k))
        for k, task in enumerate(view.tasks)
    )
    classes = [task.classes for task in tasks]
    task_aware = restrict_to_task(
        lambda model, x, _: call(model, x), classes, view.classes
    )
    return replace(view, tasks=tasks), ModelCall(call=task_aware)
