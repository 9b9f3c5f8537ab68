"""How long the jobs of a study will take, found by doing some of them on a few examples.

A job is done as it would be, part by part, on a few examples of each task and for one epoch; what
it measures is thrown away. Done again with four times the examples, and for three epochs, it shows
what grows with either, and so what each part takes on all the data. Learners that share a network
differ in how they train, which one short run of each shows.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.values.allocation import CacheSettings
from scenarios.execution.remaining import Pace
from scenarios.learners.catalog import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import network_of, on_device, run_job
from scenarios.study.jobs import Job, jobs_of, parts_of, readings_of
from scenarios.study.kept.measurement import Measurement
from scenarios.study.kept.store import Checkpoint, Store
from scenarios.study.spec import Study

LIMIT = 15.0
"""Seconds after which no further part is begun: what is not known then is judged by its kind."""

_FEW, _TIMES = 16, 4  # examples of each task at first, and how many times as many come next
_LONG = 1.0  # seconds: after a run of that length a larger one would take too long
_MEMORY = CacheSettings(budget=2**34, room=0)

_MORE = 3  # epochs of the run that shows what an epoch takes

Took = Mapping[str, float]
"""Seconds by part, under a name that does not depend on the epochs."""


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """Runs of a study's jobs on a few examples; nothing is written.

    scenario: the whole one, in base order; end: when no further part is begun, by
    `time.perf_counter`.
    """

    study: Study
    scenario: Scenario
    device: torch.device
    end: float

    def pace(self) -> Pace:
        """Return the pace of all jobs but those of learners that bring a network of their own.

        Those train in ways of their own: of them nothing is known. Raises what a job may raise.
        """
        jobs = self._jobs()
        plain = [job for job in jobs if not job.offline]
        if not plain:
            return Pace()
        first, others = plain[0], plain[1:]
        few, known = self._grown(first)
        whole = self._whole(first, few, known)
        found = [
            (first, part, whole[key])
            for part, key in _keys(self.study, first).items()
            if key in whole
        ]
        # What the others train, by how much longer it takes on few examples.
        for job in others:
            own = self._run(job, few, epochs=1, reading=False)
            found += [
                (job, part, whole[part] * seconds / max(known[0][part], 1e-9))
                for part, seconds in own.items()
                if part in whole and part in known[0]
            ]
        behind = _by_readout(whole)
        for job in jobs:
            if job is not first:
                found += [
                    (job, part, behind[key.split(" ", 1)[1]])
                    for part, key in _keys(self.study, job).items()
                    if key != part and key.split(" ", 1)[1] in behind
                ]
        return Pace.of(found)

    def _jobs(self) -> list[Job]:
        """Return the first job of each learner that learns the study's network."""
        found: dict[str, Job] = {}
        for job in jobs_of(self.study, len(self.scenario.tasks)):
            if not LEARNERS[job.kind].own_features:
                found.setdefault(job.learner, job)
        return list(found.values())

    def _grown(self, job: Job) -> tuple[int, list[Took]]:
        """Return with how many examples of each task a job was done last, and what it took.

        That is with so many, with a quarter of them (nothing if there was no such run), and with so
        many for _MORE epochs.
        """
        few, most = _FEW, max(len(task.train) for task in self.scenario.tasks)
        fewer: Took = {}
        while True:
            took = self._run(job, few)
            if few >= most or sum(took.values()) > _LONG:
                return few, [took, fewer, self._run(job, few, epochs=_MORE)]
            few, fewer = few * _TIMES, took

    def _whole(self, job: Job, few: int, known: list[Took]) -> dict[str, float]:
        """Return how long each part of a job takes on all examples, for all epochs."""
        took, fewer, longer = known
        sizes = [len(task.train) for task in self.scenario.tasks]
        n = mean(min(few, size) for size in sizes)
        n0, N = mean(min(few // _TIMES, size) for size in sizes), mean(sizes)
        found = {}
        for part, seconds in took.items():
            step = part.startswith("step-")
            recipe = self.study.recipe_of(job.learner) if step else self.study.retraining_recipe
            # Of a part that was done but once, all of it grows with the examples and the epochs.
            small = (n0, fewer[part]) if part in fewer and n > n0 else (0, 0.0)
            runs = [small, (n, seconds), (n, longer.get(part, _MORE * seconds))]
            found[part] = reckoned(runs, N, recipe.epochs)
        return found

    def _run(self, job: Job, few: int, epochs: int = 1, reading: bool = True) -> dict[str, float]:
        """Do a job on a few examples of each task and return what its parts took."""
        study = _shortened(self.study, epochs, reading)
        scenario = on_device(_first_of(self.scenario, few), self.device)
        store, keys, took = _Memory(job), _keys(study, job), dict[str, float]()
        # Not of the wall: what else a machine does at this moment says nothing of the study.
        clock = time.process_time if self.device.type == "cpu" else time.perf_counter
        start = clock()
        for part in run_job(
            study, job, scenario, store, self.device, _MEMORY, lambda: self._network(job)
        ):
            now = clock()
            took[keys[part]], start = now - start, now
            if time.perf_counter() > self.end:
                break
        return took

    def _network(self, job: Job) -> nn.Module:
        """Return a network that stands for the offline one."""
        view = LEARNERS[job.kind].view(_first_of(self.scenario, _FEW))
        return network_of(self.study, job.learner, view).to(self.device)


def reckoned(runs: Sequence[tuple[float, float]], examples: float, epochs: int) -> float:
    """Return how many seconds a part takes that grows by so much for each example and epoch.

    runs: the examples and seconds of three: a smaller and a larger one of one epoch, and one of as
    many examples as the larger, and _MORE epochs.

    >>> reckoned([(1, 12), (2, 14), (2, 18)], examples=10, epochs=5)  # 10 + n + n * epochs
    70.0
    """
    (n0, fewer), (n, seconds), (_, longer) = runs
    each = max(0.0, seconds - fewer) / (n - n0)
    epoch = max(0.0, longer - seconds) / (n * (_MORE - 1))
    return seconds + (examples - n) * each + (epochs - 1) * examples * epoch


class _Memory(Store):
    """The results of one job, which vanish with it."""

    def __init__(self, job: Job) -> None:
        super().__init__(Path(), job.name, {})
        self._parts: dict[str, Measurement] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    def read(self, part: str) -> Measurement | None:
        return self._parts.get(part)

    def write(self, part: str, measured: Measurement) -> None:
        self._parts[part] = measured

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        own, carried = (
            {k: v.detach().clone() for k, v in each.items()} for each in (model, learner)
        )
        self._checkpoints[step] = Checkpoint(own, carried, code="")

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        return self._checkpoints.get(step)

    def set_checkpoint_aside(self, step: str, reason: str) -> None:
        del self._checkpoints[step]

    def drop_checkpoints(self, kept: str) -> None:
        pass


def _keys(study: Study, job: Job) -> dict[str, str]:
    """Return what parts are called here: of a reading its step, feature and readout."""
    named = {
        each.part: f"{each.step} {each.feature} {each.readout}" for each in readings_of(study, job)
    }
    return {part: named.get(part, part) for part in parts_of(study, job)}


def _by_readout(took: Took) -> dict[str, float]:
    """Return how long a readout behind a feature takes, whatever the step."""
    each = defaultdict[str, list[float]](list)
    for key, seconds in took.items():
        if not key.startswith("step-"):
            each[key.split(" ", 1)[1]].append(seconds)
    return {key: median(seconds) for key, seconds in each.items()}


def _shortened(study: Study, epochs: int, reading: bool) -> Study:
    """Return the study with recipes of so many epochs, and perhaps without what it reads."""
    learners = {
        name: own.model_copy(
            update={"training": own.training and replace(own.training, epochs=None)}
        )
        for name, own in study.learners.items()
    }
    changes: dict[str, object] = {
        "training": replace(study.training, epochs=epochs),
        "retraining": study.retraining and replace(study.retraining, epochs=epochs),
        "learners": learners,
    }
    if not reading:
        changes["probing"] = study.probing.model_copy(update={"readouts": {}})
    return study.model_copy(update=changes)


def _first_of(scenario: Scenario, few: int) -> Scenario:
    """Return a scenario of so many training examples of each task, and a like share of tests."""
    tasks = []
    for task in scenario.tasks:
        share = min(1.0, few / len(task.train))
        tasks.append(
            replace(task, train=_spread(task.train, share), test=_spread(task.test, share))
        )
    return replace(scenario, tasks=tuple(tasks))


def _spread(examples: Examples, share: float) -> Examples:
    """Return a share of the examples, from all over them: their classes may come in turn."""
    n = len(examples)
    few = max(2, min(n, round(n * share)))
    return examples.take(torch.linspace(0, n - 1, few).long()) if few < n else examples
