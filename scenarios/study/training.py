"""Networks trained by the learners of a study, as the source of its plan's networks.

A learner starts from a fresh network and learns one task after another. Its state is saved in a
checkpoint after each task (`scenarios.study.checkpoints`), so that a stopped job resumes and gives
the same bits: every random number comes from a named stream of the job's seed and does not depend
on earlier draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from torch import nn

from probe.batch import Value, tensors
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.offline import train_offline
from probe.by_layer.plan import UNTRAINED, Plan
from probe.by_layer.store import Results, Store
from probe.cut.cuts import Cuts, cut_each
from probe.cut.model_call import ModelCall
from probe.errors import located
from probe.examples import Examples
from probe.modules import architecture
from probe.seeding import global_stream, stream
from probe.task_aware import append_task, restrict_to_task
from probe.tasks import Scenario, Task
from probe.training.batch_norm import reestimate
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import Fresh, initialize
from probe.training.history import never_left
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import bare, draw_weights, fresh_source, network_for
from scenarios.study.checkpoints import clock_on, first_task_store, restored, train_first_task
from scenarios.study.spec import Study
from scenarios.user_code import REGISTRY

_LAST: dict[object, Cuts] = {}  # cuts of this process, by features and call


def network_of(study: Study, learner: str, scenario: Scenario) -> nn.Module:
    """Build a learner's network, uninitialized, for the scenario as it sees it.

    Args:
        study: The study.
        learner: Its name.
        scenario: The learner's view of it (its kind's `view`), of which only the shape of an input,
            the K classes and T are used.

    Returns:
        The study's network, unless the learner has its own architecture; on the CPU, and the same
        for every seed: initial weights are drawn later.

    Raises:
        InputError: It cannot take the data.
    """
    x, settings = scenario.tasks[0].train.x, study.all_learners[learner]
    kind = LEARNERS[settings.kind]
    if not kind.own_features:
        return network_for(study.network.name, x, scenario.classes)
    shape = tensors(x)[0].shape[1:]
    # torch's modules draw initial weights from the global generator, which is restored afterwards.
    with global_stream(stream(0, "build")):
        return kind.network(settings, shape, scenario.classes, len(scenario.tasks))


@dataclass
class LearnedNetworks:
    """The networks of one job, learned one task after the other.

    Attributes:
        source: The source of the networks of all jobs.
        job: The job.
        view: The tasks in executed order, as the learner sees them.
        scenario: The same tasks as readouts see them, with the task id where a learner receives it.
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

    def after(self, step: int) -> TrainedNetwork:
        """Return the learner after so many tasks, from a checkpoint or by learning."""
        at = self._steps.index(step)
        learner, cost = self._latest(at)
        while learner.learned < at:
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

    def compared_with(self, peer: str) -> nn.Module:
        """Return an earlier or the untrained network to compare with."""
        if peer == UNTRAINED:
            model = self._fresh().model
            reestimate(model, self.view.merged.train.x)
            return bare(model)[0]
        step = int(peer.removeprefix("step-"))
        past = self._tasks[: self._steps.index(step)]
        if checkpoint := restored(self._fresh, step, past, self.store):
            return bare(checkpoint[0].model)[0]
        # A run of fewer measurements may have deleted the checkpoint: it is made again.
        return replace(self).after(step).model

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of the first network of this process, which serve all others.

        Args:
            model: The network.
            features: The features to cut at.
            sample: Real inputs, on which the cuts are checked.

        Returns:
            The cuts.
        """
        # A task-aware call is another for each job.
        key = tuple(features), self.call, frozenset(architecture(model).items())
        if key not in _LAST:
            _LAST.clear()
            _LAST[key] = cut_each(model, features, sample, self.call.output, self.call.call)
        return _LAST[key]

    @property
    def _tasks(self) -> Sequence[Task]:
        """The tasks to learn; an offline learner learns all of them as one."""
        if self.job.offline:
            return (self.view.merged,)
        return [t for k, t in enumerate(self.view.tasks, 1) if k != self.job.without]

    @property
    def _steps(self) -> Sequence[int]:
        """The step after each of these tasks, from none; T is the last, also without a task."""
        T = len(self.job.tasks)
        return (*range(T - 1), T) if self.job.without else self.job.steps

    def _fresh(self) -> Learner:
        """Return a learner that has learned nothing, its weights drawn from the job's seed."""
        study, job, kind = self.source.study, self.job, LEARNERS[self.job.kind]
        recipe = study.recipe_of(job.learner)
        # Only from the seed: all learners and orders of a seed start from the same weights.
        drawn = stream(job.seed, "init")
        model = network_of(study, job.learner, self.view)
        if job.own_network:
            initialize(model, recipe.init, drawn)
        else:
            draw_weights(model, study.network.name, recipe.init, drawn)
        device = self.view.tasks[0].train.y.device
        learner = kind(model.to(device), recipe, study.all_learners[job.learner], job.seed)
        if job.kind == UNTRAINED:
            # The initial statistics, which come from no data, would make the floor too low.
            reestimate(learner.model, self.view.merged.train.x)
        return learner

    def _latest(self, at: int) -> tuple[Learner, TrainingCost | None]:
        """Return the learner after as many of the first tasks as possible, without learning."""
        for done in range(at, -1, -1):
            if self._now and self._now[0].learned == done:
                return self._now
            past, step = self._tasks[:done], self._steps[done]
            checkpoint = restored(self._fresh, step, past, self.store) if done else None
            if checkpoint and checkpoint[0].learned == done:
                return checkpoint
        return self._fresh(), None

    def _learn_next(self, learner: Learner) -> TrainingCost:
        """Let a learner learn its next task, and save it; return the cost."""
        done = learner.learned + 1
        task = self._tasks[done - 1]
        with located(f"task {task.name} ({done} of {len(self._tasks)})"):
            if self.source.study.scenario.task_aware and learner.offline:
                model = bare(learner.model)[0]
                cost = train_offline(model, self.call, self.scenario, learner.recipe, self.job.seed)
                learner.learned, learner.seen = 1, task.classes
            else:
                cost = self._learn(learner, task)
        # The checkpoint comes first: a job killed before the measurement does not repeat the task.
        state = {**learner.state(), **cost.to_state()}
        self.store.save_checkpoint(self._steps[done], learner.model.state_dict(), state)
        if self.source.study.probing.checkpoints == "needed":
            # A resumed run goes on from the one just saved; only diagnostics read earlier models.
            compared = self.source.study.probing.diagnostics and not self.job.without
            self.store.drop_checkpoint(self._steps[done - 1], model=not compared)
        return cost

    def _learn(self, learner: Learner, task: Task) -> TrainingCost:
        """Let a learner learn a task, of which the first may have been trained by another job."""
        now, train, spared = clock_on(task.train.y.device), None, 0.0
        store = first_task_store(self.source.plan, self.job, learner, self.store)
        if store and not learner.learned:

            def train(task: Task, data: Examples, meter: OpsMeter) -> None:
                nonlocal spared
                spared = train_first_task(store, learner, task, data, meter)

        start = now()
        cost = learner.learn(task, train)
        seconds = now() - start + spared
        return TrainingCost(cost=cost, seconds=seconds, stuck=never_left(learner.losses))


@dataclass(kw_only=True)
class StudyNetworks:
    """The source of the networks of a study.

    scenario: the study's, in base order, with the data on the device.
    """

    plan: Plan
    study: Study
    scenario: Scenario

    def networks(self, job: Job, results: Results) -> LearnedNetworks:
        """Return the networks of a job.

        Args:
            job: The job.
            results: The store of its results, for checkpoints.

        Returns:
            The networks.
        """
        study, network = self.study, self.study.network.name
        # First the order, then the view: a learner's view may depend on which task comes first.
        view = scenario = LEARNERS[job.kind].view(self.scenario.reordered(job.tasks))
        entry, call, fresh = REGISTRY.networks.get(network), ModelCall(), None
        if not job.own_network:
            fresh = fresh_source(network, study.retraining_recipe.init)
            call = ModelCall(call=entry.call, output=entry.output) if entry else call
        if study.scenario.task_aware:
            scenario, call = _task_aware(view, call)
        return LearnedNetworks(self, job, view, scenario, call, fresh, cast(Store, results))


def _task_aware(view: Scenario, call: ModelCall) -> tuple[Scenario, ModelCall]:
    """Return tasks whose inputs hold the task id, and the call by which its classes compete."""
    tasks = tuple(
        replace(task, train=append_task(task.train, k), test=append_task(task.test, k))
        for k, task in enumerate(view.tasks)
    )
    classes = [task.classes for task in tasks]
    task_aware = restrict_to_task(lambda model, x, _: call(model, x), classes, view.classes)
    return replace(view, tasks=tasks), ModelCall(call=task_aware)
