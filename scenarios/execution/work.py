"""Execution of one job under its lock, in any process, and its outcome.

`Work` is all that a process needs to do any job of a plan. It is small and can be
pickled: it does not contain the data, as every process loads them and compares their
hash with the plan's. `carry_out` does a job under its lock and turns every failure into
an event, so that a failed job does not end the others; all executors call it, or
`carried_out` in processes that can only return a value.
"""

import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal, cast

import torch

from probe.by_layer.jobs import Job, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.by_layer.store import Store
from probe.errors import InputError, NotWritten, described, no_exit
from probe.immutable import immutable
from probe.locks import Locked, is_locked
from probe.results.job import is_finished, measure_job
from probe.results.run_directory import store_of
from probe.values.allocation import CacheSettings
from scenarios.study.plan import Loader


@immutable
class Work:
    """Everything that a process needs to do any job of a plan, as plain data.

    Attributes:
        plan: The networks, and the measurements to make of them.
        loader: The loader of the networks and the data.
        device: The device, as torch names it.
        root: The run directory.
        cache: The memory and disk for cached activations.
        sharing: The number of workers of this machine that share the cache; None = one
            worker has all of it.
        recompute: Whether to repeat jobs whose results were made by other code.
    """

    plan: Plan
    loader: Loader
    device: str
    root: Path
    cache: CacheSettings
    sharing: int | None = None
    recompute: bool = False

    def store(self, job: Job) -> Store:
        """Return the store of a job's results."""
        return store_of(self.plan, self.root, job)

    def is_outdated(self, store: Store) -> bool:
        """Return whether a job must be repeated because other code made its results."""
        return self.recompute and store.made_by_other_code()

    def finished(self, job: Job) -> set[Key]:
        """Return the job's measurements that have a file; none if the job must be repeated."""
        store = self.store(job)
        stored = set() if self.is_outdated(store) else store.finished()
        # Keys are listed once, however many jobs have not begun.
        return stored and stored & set(keys_of(self.plan, job))

    def keys_left(self, job: Job) -> list[Key]:
        """Return the keys of the job's remaining measurements, in their order."""
        finished = self.finished(job)
        return [key for key in keys_of(self.plan, job) if key not in finished]

    def is_finished(self, job: Job) -> bool:
        """Return whether every measurement of the job is intact, merged and need not be repeated.

        Unlike `finished` it reads the files.
        """
        store = self.store(job)
        return not self.is_outdated(store) and is_finished(self.plan, store, job)

    def is_locked(self, job: Job) -> bool:
        """Return whether another process is doing the job."""
        return is_locked(self.root / "jobs" / job.name)


@immutable
class Ended:
    """The event that an attempt to do a job has ended.

    Attributes:
        job: The job.
        how: The outcome: `finished`, all of its measurements are stored; `locked`,
            another process is doing it; `killed`, its process is gone or ran out of
            memory, so it may be retried; `failed`, a retry would fail, too.
        reason: The reason in one sentence, "" for a finished job.
        trace: The traceback of an unforeseen error, else "".
    """

    job: Job
    how: Literal["finished", "locked", "killed", "failed"]
    reason: str = ""
    trace: str = ""


# A measurement of a job is finished, or a job has ended.
Event = tuple[Job, Key] | Ended


def carry_out(work: Work, job: Job) -> Iterator[Event]:
    """Do the rest of a job; yield each finished measurement, and last its end.

    An error becomes part of the job's end, except NotWritten.

    Args:
        work: The plan and its run directory.
        job: The job.

    Yields:
        The events.

    Raises:
        NotWritten: The run directory cannot be written to, which stops all jobs.
    """
    try:
        if not work.root.is_dir():
            raise NotWritten(
                f"{work.root} is gone: name the folder where it is now, and run again"
            )
        device = torch.device(work.device)
        recompute = work.recompute
        cache = work.cache
        if work.sharing is not None:
            cache = cache.settled(device, work.sharing)
        with no_exit(), ExitStack() as stack:
            source = partial(stack.enter_context, work.loader(work.plan, device))
            for key in measure_job(
                work.plan, work.root, job, source, cache, recompute=recompute
            ):
                yield job, key
    except Locked as error:
        yield Ended(job=job, how="locked", reason=str(error))
    except NotWritten:
        raise
    except InputError as error:
        yield Ended(job=job, how="failed", reason=str(error))
    except (MemoryError, torch.OutOfMemoryError) as error:
        yield Ended(job=job, how="killed", reason=f"out of memory ({described(error)})")
    except Exception as error:
        yield Ended(
            job=job, how="failed", reason=described(error), trace=traceback.format_exc()
        )
    else:
        yield Ended(job=job, how="finished")


def carried_out(work: Work, job: Job) -> Ended:
    """Do the rest of a job as `carry_out` does, in a worker process.

    The measurements are found in the run directory.

    Args:
        work: The plan and its run directory.
        job: The job.

    Returns:
        How the job ended.
    """
    *_, ended = carry_out(work, job)
    return cast(Ended, ended)
