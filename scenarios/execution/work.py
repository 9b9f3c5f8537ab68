"""Doing one job: under a lock, in whichever process, and how it ended.

`Work` is all that a process has to be told to do any job of a study. It is small and can be
pickled: the data are not part of it, as every process loads them for itself and compares their hash
with the one that the study began with. `carry_out` does a job under its lock and turns whatever
happens into an event, so that one job that fails does not end the others; all executors call it, or
`carried_out`, which suits processes that can only return a value.
"""

from __future__ import annotations

import platform
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from probe.errors import InputError, NotWritten
from probe.files import make_folder
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.execution.locks import Locked, is_locked, lock
from scenarios.own_code import NO_CODE, OwnCode
from scenarios.streams.task import Scenario
from scenarios.study.fingerprint import Setup, data_hash, sources_of
from scenarios.study.job import on_device, run_job, trained_network
from scenarios.study.jobs import Job, is_retraining, jobs_of, parts_of
from scenarios.study.kept.store import Store
from scenarios.study.own import OURS
from scenarios.study.run_directory import store_of
from scenarios.study.scenario_spec import ScenarioSpec


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a process needs to do any job of a study: all of it plain data.

    - setup: the study, and what its results depend on;
    - location: where the data are; device: as torch names it; root: the run directory;
    - cache: memory and disk for features' values;
    - sharing: how many workers of a machine share these; None = they are one worker's share;
    - recompute: whether jobs are done again whose results other code has made;
    - own: what of the user's own code the study uses.
    """

    setup: Setup
    location: Location
    device: str
    root: Path
    cache: CacheSettings
    sharing: int | None = None
    recompute: bool = False
    own: OwnCode = NO_CODE

    def store(self, job: Job) -> Store:
        """Where the job's results are."""
        return store_of(self.setup, self.root, job)

    def parts(self, job: Job) -> list[str]:
        """The names of the job's parts, in the order in which they are finished."""
        return parts_of(self.setup.study, job)

    def finished(self, job: Job) -> set[str]:
        """The parts of the job for which there is a file; none if they are to be made again."""
        store = self.store(job)
        if self.recompute and store.made_by_other_code(store.contents()):
            return set()
        return store.finished() & set(self.parts(job))

    def retraining_left(self, jobs: Iterable[Job]) -> bool:
        """Whether a model has yet to be retrained behind some feature, in any of the jobs."""
        left = (part for job in jobs for part in set(self.parts(job)) - self.finished(job))
        return any(map(is_retraining, left))

    def is_finished(self, job: Job) -> bool:
        """Whether every part of the job is there, not corrupt and not to be made again.

        Unlike `finished` it reads the files, and so is sure.
        """
        store = self.store(job)
        contents = store.contents()
        if self.recompute and store.made_by_other_code(contents):
            return False
        return contents.finished >= set(self.parts(job))

    def is_locked(self, job: Job) -> bool:
        """Whether another process does the job now."""
        return is_locked(self.folder(job))

    def folder(self, job: Job) -> Path:
        """The folder of the job and of its lock."""
        return self.root / "jobs" / job.name


@dataclass(frozen=True)
class Part:
    """A part of a job is finished."""

    job: Job
    part: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """An attempt to do a job has ended.

    how:

    - `finished`: all of its parts are there;
    - `locked`: another process does the job;
    - `killed`: the process that did it is gone, or was out of memory: it may be tried again;
    - `failed`: it would end so every time.

    reason: a sentence; trace: where an error of a kind that nobody foresaw came from, else empty.
    """

    job: Job
    how: Literal["finished", "locked", "killed", "failed"]
    reason: str = ""
    trace: str = ""


Event = Part | Ended
"""What happens while jobs are done."""


def carry_out(work: Work, job: Job) -> Iterator[Event]:
    """Do what is left of a job; yield each part as it is finished, and last how it ended.

    Raises NotWritten if the run directory cannot be written to: then no job can go on. No other
    error leaves it.
    """
    try:
        for part in _do(work, job):
            yield Part(job, part)
    except Locked as error:
        yield Ended(job=job, how="locked", reason=str(error))
    except NotWritten:
        raise
    except InputError as error:
        yield Ended(job=job, how="failed", reason=str(error))
    except (MemoryError, torch.OutOfMemoryError) as error:
        yield Ended(job=job, how="killed", reason=f"out of memory ({_first_line(error)})")
    except Exception as error:
        reason = f"{type(error).__name__}: {_first_line(error)}"
        yield Ended(job=job, how="failed", reason=reason, trace=traceback.format_exc())
    else:
        yield Ended(job=job, how="finished")


def carried_out(work: Work, job: Job) -> Ended:
    """Do what is left of a job, as `carry_out` does, and return how it ended.

    A worker in another process can be told to do this. Its parts are seen in the run directory.
    """
    *_, ended = carry_out(work, job)
    if not isinstance(ended, Ended):
        raise TypeError(f"expected how {job.name} ended, got {ended}")
    return ended


def _do(work: Work, job: Job) -> Iterator[str]:
    """Do what is left of a job under its lock and yield its parts; raises whatever goes wrong."""
    device = torch.device(work.device)
    if not work.root.is_dir():
        raise NotWritten(f"{work.root} is gone: name the folder where it is now, and run again")
    make_folder(work.folder(job))
    with work.own.opened(OURS), lock(work.folder(job)):
        if sources_of(work.setup.study) != work.setup.sources:
            raise InputError("your own code has changed since this began: run the command again")
        store = work.store(job)
        # Only under the lock: what is unfinished is nobody's work in progress.
        store.sweep()
        if work.recompute and store.made_by_other_code(store.contents()):
            store.clear()
        # Asked under the lock: another process may have finished it just now.
        if not work.is_finished(job):
            study = work.setup.study
            scenario = _loaded(study.scenario, work.location, work.device, work.setup.data)
            cache = work.cache
            if work.sharing is not None:
                cache = cache.settled(device, work.sharing)
            offline = partial(_offline_network, work, job, scenario)
            yield from run_job(study, job, scenario, store, device, cache, offline)


def _offline_network(work: Work, job: Job, scenario: Scenario) -> nn.Module:
    """Return the offline network of a job's seed, under the lock of the offline job.

    Whoever does that job now is waited for; offline jobs wait for none.
    """
    study, tasks = work.setup.study, len(work.setup.tasks)
    each = jobs_of(study, tasks)
    offline = next(own for own in each if (own.kind, own.seed) == ("offline", job.seed))
    make_folder(work.folder(offline))
    with lock(work.folder(offline), wait=True):
        store = work.store(offline)
        store.sweep()
        return trained_network(study, offline, scenario, store, torch.device(work.device))


@lru_cache(maxsize=1)
def _loaded(spec: ScenarioSpec, location: Location, device: str, data: str) -> Scenario:
    """Load the data once per process, however many jobs it does; data: the hash they must have."""
    scenario = spec.scenario(location)
    if data_hash(scenario) != data:
        raise InputError(
            f"the data of {spec.title} on {platform.node()} are not those that the study began "
            f"with: put the same files there, and run the same command again"
        )
    return on_device(scenario, torch.device(device))


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message, "" if it has none."""
    return (str(error).splitlines() or [""])[0]
