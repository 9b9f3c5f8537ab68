"""Doing one job: under a lock, in whichever process, and how it ended."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

from probe.errors import InputError, NotWritten
from probe.files import sweep_all
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.execution.claims import LEASE, Claims, Held, Lost
from scenarios.execution.lock_file import Lock
from scenarios.streams.task import Scenario
from scenarios.study.identity import Identity, data_hash
from scenarios.study.job import Job, on_device, parts_of, run_job
from scenarios.study.scenario_spec import ScenarioSpec
from scenarios.study.store import Store


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a process needs to do any job of a study: all of it plain data.

    cache: memory and disk for features' values; sharing: how many workers of a machine divide them
    among themselves, None = it is one worker's share already; lease: see
    `scenarios.execution.claims`.
    """

    identity: Identity
    location: Location
    device: str
    root: Path
    cache: CacheSettings
    sharing: int | None = None
    lease: float = LEASE

    @property
    def claims(self) -> Claims:
        """The locks of the run directory: one for each job, and `tables`."""
        return Claims(self.root / "locks", self.lease)

    def store(self, job: Job, allowed: Callable[[], object] = lambda: None) -> Store:
        """Where the job's results are."""
        return Store(self.root, self.identity.of(job), allowed)

    def finished(self, job: Job) -> set[str]:
        """The parts of the job for which there is a file."""
        return self.store(job).finished(job.name) & set(parts_of(self.identity.study, job))

    def retraining_left(self, jobs: Iterable[Job]) -> bool:
        """Whether a model has yet to be retrained behind some feature."""
        study = self.identity.study
        left = (part for job in jobs for part in set(parts_of(study, job)) - self.finished(job))
        return any(part.startswith("feature-") for part in left)

    def is_finished(self, job: Job) -> bool:
        """Whether every part of the job is there and can be trusted; changes nothing."""
        store = self.store(job)
        return all(store.holds(job.name, part) for part in parts_of(self.identity.study, job))


@dataclass(frozen=True)
class Attempt:
    """A job to be done; stale: how its lock looked that need not be respected any more."""

    job: Job
    stale: Lock | None = None


@dataclass(frozen=True)
class Part:
    """A part of a job is finished."""

    job: Job
    part: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """An attempt has ended.

    how: `finished`; `held`: another process has the job; `killed`: the process that did it is gone,
    or was out of memory: it may be tried again; `failed`: it would end so every time. reason: a
    sentence; trace: where an error of a kind that nobody foresaw came from.
    """

    job: Job
    how: Literal["finished", "held", "killed", "failed"]
    reason: str = ""
    trace: str = ""


Event = Part | Ended


def carry_out(work: Work, attempt: Attempt) -> Iterator[Event]:
    """Do what is left of a job; yield each part as it is finished, and last how it ended.

    torch has one thread for it: with one, results are the same bit for bit on any number of cores.
    Raises NotWritten if the run directory cannot be written to: then no job can go on.
    """
    job = attempt.job
    try:
        for part in _do(work, attempt):
            yield Part(job, part)
    except (Held, Lost) as error:
        yield Ended(job=job, how="held", reason=str(error))
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


def carried_out(work: Work, attempt: Attempt) -> Ended:
    """Do what is left of a job, as `carry_out` does, and return how it ended.

    A worker in another process can be told to do this.
    """
    *_, ended = carry_out(work, attempt)
    if not isinstance(ended, Ended):
        raise TypeError(f"expected how {attempt.job.name} ended, got {ended}")
    return ended


def _do(work: Work, attempt: Attempt) -> Iterator[str]:
    job, device = attempt.job, torch.device(work.device)
    with _one_thread(), work.claims.held(job.name, attempt.stale) as allowed:
        # Who holds the job is the only one who writes here.
        sweep_all(work.root / "jobs" / job.name)
        if not work.is_finished(job):
            study = work.identity.study
            scenario = _loaded(study.scenario, work.location, work.device, work.identity.data)
            store, cache = work.store(job, allowed), work.cache
            if work.sharing is not None:
                cache = cache.settled(device, work.sharing)
            try:
                yield from run_job(study, job, scenario, store, device, cache)
            except NotWritten:
                # The next holder sweeps away what this one was writing.
                allowed()
                raise


@contextmanager
def _one_thread() -> Iterator[None]:
    """Lend torch one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    return (str(error).splitlines() or [""])[0]
