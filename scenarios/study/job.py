"""Doing one job of a study: a learner's training on a stream, and all that is read behind features.

A job is done in parts, and each part is stored as soon as it is measured. The fresh learner is
tested on all T tasks, then it learns one task after the other and is tested on all of them after
each. Where the study asks for it, the network of that step is then held fixed up to a feature, and
what is behind is retrained, or read out, on the data of all tasks (`scenarios.study.reading`).

A job can be stopped anywhere. It goes on from the last checkpoint (`scenarios.study.kept.resuming`)
and gives the same bits as if it had never been stopped, since every random number comes from a
named stream of the job's seed and not from what was drawn before. Networks that are given as files
are taken in place of what would be learned (`scenarios.study.given`). Nothing here knows of
processes or locks: that is `scenarios.execution.work`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from probe.batch import tensors
from probe.errors import InputError, located
from probe.seeding import global_stream, stream
from probe.training.batch_norm import reestimate
from probe.training.fresh_weights import initialize
from probe.training.history import never_left
from probe.values.allocation import CacheSettings
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.heads import count, predictions_by_head
from scenarios.networks import draw_weights, network_for
from scenarios.streams.task import Scenario, Task
from scenarios.study.given import load_into, take
from scenarios.study.jobs import Job, parts_of, readings_of, steps_of
from scenarios.study.kept.measurement import Measurement, Spent
from scenarios.study.kept.resuming import keep, kept, resumed
from scenarios.study.kept.store import Store
from scenarios.study.reading import Reader, right_of
from scenarios.study.spec import Study

Offline = Callable[[], nn.Module]
"""What gives the network of the offline job of the same seed, on the device."""


def network_of(study: Study, learner: str, scenario: Scenario) -> nn.Module:
    """Build a learner's network, uninitialized, for the scenario as it sees it.

    It is the study's, unless the learner brings its own. scenario: the learner's view of it (its
    kind's `view`), of which only the shape of an input, the K classes and T are used. The network
    is on the CPU, and the same for every seed: the first weights are drawn later. Raises InputError
    if it cannot take the data.
    """
    x = scenario.tasks[0].train.x
    settings = study.everyone[learner]
    kind = LEARNERS[settings.kind]
    if not kind.own_features:
        return network_for(study.network.name, x, scenario.classes)
    shape = tensors(x)[0].shape[1:]
    # torch's modules draw their first weights from the global generator: it is only lent.
    with global_stream(stream(0, "build")):
        return kind.network(settings, shape, scenario.classes, len(scenario.tasks))


def run_job(
    study: Study,
    job: Job,
    scenario: Scenario,
    store: Store,
    device: torch.device,
    cache: CacheSettings | None = None,
    offline: Offline | None = None,
) -> Iterator[str]:
    """Do what is left of a job and yield the name of each part as it is finished.

    The scenario is the study's, in base order, with its data on `device`; store: where finished
    parts are looked up and new ones are written; cache: where features' values may live, stored as
    the study says; offline: asked where the last network is compared with the offline one. The
    names are those of `scenarios.study.jobs.parts_of`; a part that was finished before is not
    yielded. torch has one thread for all of it, so that results are the same bit for bit on any
    number of cores. Raises InputError, saying which job, if its training diverges, and NotWritten
    if the store cannot write.
    """
    order = f", order {job.order}" if job.order else ""
    with located(f"learner {job.learner}{order}, seed {job.seed}"), _one_thread():
        # First the order, then the view: a learner's view may depend on which task comes first.
        stream_of_tasks = LEARNERS[job.kind].view(scenario.reordered(job.tasks))
        settings = replace(cache or CacheSettings(), storage=study.storage)
        yield from _Walk(study, job, stream_of_tasks, store, device, settings, offline).parts()
        if study.probing.checkpoints == "needed":
            # A study may grow by a feature or readout, for which it needs the last.
            store.drop_checkpoints(kept=f"step-{steps_of(job)[-1]}")


def trained_network(
    study: Study, job: Job, scenario: Scenario, store: Store, device: torch.device
) -> nn.Module:
    """Return the network of a job that has learned all, from its checkpoint or trained here.

    See `run_job`. Nobody else may be at work on the job.
    """
    with located(f"learner {job.learner}, seed {job.seed}"), _one_thread():
        own = LEARNERS[job.kind].view(scenario.reordered(job.tasks))
        walk = _Walk(study, job, own, store, device, CacheSettings(), None)
        learner, last = walk.fresh(), steps_of(job)[-1]
        if walk.given:
            return walk.given_after(last).model
        if found := kept(walk.fresh, f"step-{last}", walk.tasks, store):
            return found.learner.model
        for task in walk.tasks:
            spent = _learn(learner, task)
        keep(store, f"step-{last}", learner, spent)
        return learner.model


class _Walk:
    """A job's way from a fresh learner over its tasks, measuring what is not finished at each."""

    def __init__(
        self,
        study: Study,
        job: Job,
        scenario: Scenario,
        store: Store,
        device: torch.device,
        cache: CacheSettings,
        offline: Offline | None,
    ) -> None:
        self.study, self.job, self.scenario, self.store = study, job, scenario, store
        self.device, self.offline = device, offline
        # An offline learner learns all tasks as one.
        self.tasks = (scenario.merged,) if job.offline else scenario.tasks
        self.reader = Reader(study=study, job=job, scenario=scenario, cache=cache)
        self.given = study.everyone[job.learner].given(job.order, job.seed)

    def fresh(self) -> Learner:
        """Return a learner that has learned nothing, its weights drawn from the job's seed.

        Where a network before any task is given, it has that one's.
        """
        recipe = self.study.recipe_of(self.job.learner)
        # By the seed alone: all learners and orders of a seed start from the same weights.
        drawn = stream(self.job.seed, "init")
        model = network_of(self.study, self.job.learner, self.scenario)
        if LEARNERS[self.job.kind].own_features:
            initialize(model, recipe.init, drawn)
        else:
            draw_weights(model, self.study.network.name, recipe.init, drawn)
        if file := self.given.get(0):
            load_into(model, file)
        settings = self.study.everyone[self.job.learner]
        learner = LEARNERS[self.job.kind](model.to(self.device), recipe, settings, self.job.seed)
        if self.job.kind == "untrained":
            # Statistics of nothing would make the floor too low.
            reestimate(learner.model, self.scenario.merged.train.x)
        return learner

    def parts(self) -> Iterator[str]:
        """Learn task after task, measure after each what is missing, and yield its parts."""
        names = [f"step-{step}" for step in steps_of(self.job)]
        by_step = {name: list[str]() for name in names}
        at = ""
        for part in parts_of(self.study, self.job):
            at = part if part in by_step else at
            by_step[at].append(part)
        whole = [all(self.store.read(each) for each in by_step[name]) for name in names]
        if all(whole):
            return
        if self.given:
            yield from self._given_parts([n for n, w in zip(names, whole, strict=True) if not w])
            return
        begun = resumed(self.fresh, names, whole, self.tasks, self.store)
        learner, spent = begun.learner, begun.spent
        for done, name in enumerate(names):
            if done > begun.done:
                learner, spent = self._learned(learner, name, done)
            # Steps before `begun` are finished: `resumed` has seen to that.
            if done >= begun.done:
                with located(f"after {_task(self.tasks, done)}"):
                    yield from self._measured(learner, spent, name)

    def _given_parts(self, names: Sequence[str]) -> Iterator[str]:
        """Measure what is missing of networks that are given, and yield its parts."""
        for name in names:
            done = _number(name)
            # An offline network has learned its one task.
            with located(f"after {_task(self.tasks, min(done, len(self.tasks)))}"):
                yield from self._measured(self.given_after(done), None, name)

    def given_after(self, done: int) -> Learner:
        """Return a learner with the network that is given after so many tasks."""
        learner = self.fresh()
        if done:
            take(learner, self.given[done], self.tasks[:done])
        return learner

    def _learned(self, learner: Learner, name: str, done: int) -> tuple[Learner, Spent | None]:
        """Return the learner after one more task, and what it spent on it."""
        # Where a measurement alone is lost, what was learned later is whole.
        if later := kept(self.fresh, name, self.tasks[:done], self.store):
            return later.learner, later.spent
        with located(_task(self.tasks, done)):
            spent = _learn(learner, self.tasks[done - 1])
        # The checkpoint comes first: who is killed before the measurement does not learn the task
        # again.
        keep(self.store, name, learner, spent)
        return learner, spent

    def _measured(self, learner: Learner, spent: Spent | None, name: str) -> Iterator[str]:
        """Evaluate a learner after a step and read behind its features, where that is missing."""
        if self.store.read(name) is None:
            self.store.write(name, self._evaluated(learner, spent))
            yield name
        step = _number(name)
        left = [
            each
            for each in readings_of(self.study, self.job)
            if each.step == step and self.store.read(each.part) is None
        ]
        for reading, measured in self.reader.read(learner.model, left, self._network):
            self.store.write(reading.part, measured)
            yield reading.part

    def _evaluated(self, learner: Learner, spent: Spent | None) -> Measurement:
        """Test a learner on all tasks under every head."""
        predicted = predictions_by_head(learner, self.scenario)
        head = "multi" if learner.task_aware else "single"
        return Measurement(
            counts={each: count(self.scenario, p).tables for each, p in predicted.items()},
            right={head: right_of(self.scenario, predicted[head])},
            spent=spent,
        )

    def _network(self, peer: str) -> nn.Module:
        """Return the network that the last one is compared with: see `jobs.peers_of`."""
        if peer == "untrained":
            model = self.fresh().model
            reestimate(model, self.scenario.merged.train.x)
            return model
        if peer == "offline":
            if self.offline is None:
                raise InputError("the study has no offline network at hand")
            return self.offline()
        done = _number(peer)
        if self.given:
            return self.given_after(done).model
        names = [f"step-{k}" for k in range(done + 1)]
        wanted = [*[True] * done, False]
        begun = resumed(self.fresh, names, wanted, self.tasks, self.store)
        # Checkpoints that a run dropped which asked for less are made again, each from the last.
        for k in range(begun.done + 1, done + 1):
            spent = _learn(begun.learner, self.tasks[k - 1])
            keep(self.store, names[k], begun.learner, spent)
        return begun.learner.model


def _learn(learner: Learner, task: Task) -> Spent:
    """Learn a task and return what it cost and how many seconds it took."""
    # A worker has one thread, and what else a machine does is not the learner's time; of a GPU's
    # work the processor knows nothing.
    on_cpu = task.train.y.device.type == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    start = clock()
    cost = learner.learn(task)
    return Spent(cost=cost, seconds=clock() - start, stuck=never_left(learner.losses))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Lend torch one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _number(step: str) -> int:
    """Return after how many tasks a step is, by its name."""
    return int(step.removeprefix("step-"))


def _task(tasks: Sequence[Task], done: int) -> str:
    """Return the last of the tasks done as it is named in an error."""
    return f"task {tasks[done - 1].name} ({done} of {len(tasks)})" if done else "no task"


def on_device(scenario: Scenario, device: torch.device) -> Scenario:
    """Return the scenario with all its data on `device`; data that are there already are shared."""
    tasks = tuple(
        replace(task, train=task.train.to(device), test=task.test.to(device))
        for task in scenario.tasks
    )
    return replace(scenario, tasks=tasks)
