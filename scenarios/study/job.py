"""Doing one job of a study: a learner's training on a stream, and all its retrainings.

A job is done in parts, and each part is stored as soon as it is measured. First come the steps:
the fresh learner is tested on all T tasks, then it learns one task after the other and is tested
on all of them after each. Then comes the protocol of Murata et al. 2020: for every feature but
the output the network of the last step is held fixed up to that feature, the rest is retrained on
the data of all tasks, and tested.

A job can be stopped anywhere. It goes on from the last checkpoint (`scenarios.study.resuming`)
and gives the same bits as if it had never been stopped, since every random number comes from a
named stream of the job's seed and not from what was drawn before. Nothing here knows of
processes or locks: that is `scenarios.execution.work`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from probe.errors import InputError, NotWritten
from probe.metrics.outcomes import Outcomes
from probe.notes import of_classes
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import global_stream, stream
from probe.training.fresh_weights import initialize
from probe.values.allocation import CacheSettings
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.heads import count, predictions_by_head
from scenarios.networks import build_network
from scenarios.streams.task import Scenario, Task
from scenarios.study.jobs import Job, parts_of
from scenarios.study.measurement import Measurement, Spent
from scenarios.study.resuming import keep, kept, resumed
from scenarios.study.spec import Study
from scenarios.study.store import Store


def network_of(study: Study, learner: str, scenario: Scenario) -> nn.Module:
    """Build a learner's network, uninitialized, for the scenario as it sees it.

    It is the study's, unless the learner brings its own. scenario: the learner's view of it (its
    kind's `view`), of which only the shape of an input, the K classes and T are used. The network
    is on the CPU, and the same for every seed: the first weights are drawn later. Raises InputError
    if it cannot take the data.
    """
    shape = scenario.tasks[0].train.x.shape[1:]
    settings = study.learners[learner]
    kind = LEARNERS[settings.kind]
    if not kind.own_features:
        return build_network(study.network.name, shape, scenario.classes)
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
) -> Iterator[str]:
    """Do what is left of a job and yield the name of each part as it is finished.

    The scenario is the study's, in base order, with its data on `device`; store: where finished
    parts are looked up and new ones are written; cache: where features' values may live, stored as
    the study says. The names are those of `scenarios.study.jobs.parts_of`; a part that was finished
    before is not yielded. torch has one thread for all of it, so that results are the same bit for
    bit on any number of cores. Raises InputError, saying which job, if its training diverges, and
    NotWritten if the store cannot write.
    """
    order = f", order {job.order}" if job.order else ""
    with _named(f"learner {job.learner}{order}, seed {job.seed}"), _one_thread():
        # First the order, then the view: a learner's view may depend on which task comes first.
        stream_of_tasks = LEARNERS[job.kind].view(scenario.reordered(job.tasks))
        fresh = partial(_learner, study, job, stream_of_tasks, device)
        learner = yield from _train(study, job, stream_of_tasks, fresh, store)
        settings = replace(cache or CacheSettings(), storage=study.storage)
        yield from _retrain(study, job, stream_of_tasks, learner, store, settings)


def _train(
    study: Study, job: Job, scenario: Scenario, fresh: Callable[[], Learner], store: Store
) -> Generator[str, None, Learner]:
    """Learn task after task from the last valid checkpoint on, evaluating and keeping each.

    fresh: makes a learner that has learned nothing. An offline learner learns all tasks as one, so
    it has two steps. Yields the steps that are newly measured and returns the learner that has
    learned all.
    """
    tasks = (scenario.merged,) if job.offline else scenario.tasks
    steps = [part for part in parts_of(study, job) if part.startswith("step-")]
    begun = resumed(fresh, steps, tasks, store)
    learner, spent = begun.learner, begun.spent
    for done, part in enumerate(steps):
        if done > begun.done:
            # Where an evaluation alone is lost, what was learned later is whole.
            if later := kept(fresh, part, tasks[:done], store):
                learner, spent = later.learner, later.spent
            else:
                with _named(_task(tasks, done)):
                    spent = _learn(learner, tasks[done - 1])
                # The checkpoint comes first: who is killed before the measurement does not learn
                # the task again.
                keep(store, part, learner, spent)
        # Steps before `begun` are finished: `resumed` has seen to that.
        if store.read(part) is None and done >= begun.done:
            with _named(f"after {_task(tasks, done)}"):
                predicted = predictions_by_head(learner, scenario)
            own = "multi" if learner.task_aware else "single"
            store.write(
                part,
                Measurement(
                    counts={head: count(scenario, each).tables for head, each in predicted.items()},
                    right={own: _right(scenario, predicted[own])},
                    spent=spent,
                ),
            )
            yield part
    return learner


def _learn(learner: Learner, task: Task) -> Spent:
    """Learn a task and return what it cost and how many seconds it took."""
    # A worker has one thread, and what else a machine does is not the learner's time; of a GPU's
    # work the processor knows nothing.
    on_cpu = task.train.y.device.type == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    start = clock()
    cost = learner.learn(task)
    return Spent(cost=cost, seconds=clock() - start)


def _retrain(
    study: Study,
    job: Job,
    scenario: Scenario,
    learner: Learner,
    store: Store,
    cache: CacheSettings,
) -> Iterator[str]:
    """Retrain behind every feature that has no result yet; the output needs none.

    All of them share one pass over the data, which fills the values of every missing feature; see
    `probe.retrain.retrain_each`. Yields the parts in order of depth.
    """
    parts = [part for part in parts_of(study, job) if part.startswith("feature-")]
    missing = [part for part in parts if store.read(part) is None]
    # So a finished job does not even split its model.
    if not missing:
        return
    features = [part.removeprefix("feature-") for part in missing]
    train, test = scenario.merged.train, scenario.merged.test
    known = of_classes(train.y, test.y, scenario.classes)
    for found in retrain_each(
        learner.model,
        features,
        train,
        test,
        scenario.classes,
        RetrainSettings(recipe=study.retraining_recipe, seed=job.seed, cache=cache),
    ):
        part = f"feature-{found.feature}"
        store.write(
            part,
            Measurement(
                counts={"single": count(scenario, found.predicted).tables},
                right={"single": _right(scenario, found.predicted)},
                history=found.history,
                notes=(*known, *found.notes),
            ),
        )
        yield part


def _right(scenario: Scenario, predicted: Tensor) -> Outcomes:
    """Return which of the test examples of all tasks were predicted, (N,), right."""
    return Outcomes.of((predicted.cpu() == scenario.test.y.cpu()).numpy())


def _learner(study: Study, job: Job, scenario: Scenario, device: torch.device) -> Learner:
    """Return a learner that has learned nothing, its weights drawn from the job's seed."""
    model = network_of(study, job.learner, scenario)
    recipe = study.recipe_of(job.learner)
    # By the seed alone: all learners and orders of a seed start from the same weights.
    initialize(model, recipe.init, stream(job.seed, "init"))
    settings = study.learners[job.learner]
    return LEARNERS[job.kind](model.to(device), recipe, settings, job.seed)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Lend torch one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Let an InputError say where it happened.

    A NotWritten is about the disk, not about the job, and passes as it is.
    """
    try:
        yield
    except NotWritten:
        raise
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


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
