"""One job of a run directory, done under its lock by any process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from torch import nn

from probe.by_layer.engine import measure, offline_network
from probe.by_layer.jobs import Job, jobs_of, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.networks import Source
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.store import Store
from probe.files import make_folder
from probe.locks import lock
from probe.results.run_directory import store_of
from probe.values.allocation import CacheSettings


def measure_job(
    plan: Plan,
    root: Path,
    job: Job,
    source: Callable[[], Source],
    cache: CacheSettings,
    *,
    recompute: bool = False,
    wait: bool = False,
) -> Iterator[Key]:
    """Make a job's missing measurements under its lock, and yield the key of each as it is stored.

    Args:
        plan: The plan.
        root: The run directory.
        job: A job of the plan.
        source: Function that returns the source of networks; not called if nothing is
            missing.
        cache: Memory and disk for features' values.
        recompute: Whether to repeat the job if its results were made by other code.
        wait: Whether to wait for another process that is doing the job.

    Yields:
        The key of each measurement.

    Raises:
        Locked: Another process is doing the job.
        NotWritten: The run directory cannot be written to.
        InputError: A network diverges.
    """
    with _locked(
        plan,
        root,
        job,
        wait,
    ) as store:
        if recompute and store.made_by_other_code():
            store.clear()
        # Under the lock: another process may just have finished it.
        if is_finished(plan, store, job):
            return
        networks = source()
        offline = partial(
            _offline_network,
            plan,
            root,
            job.seed,
            networks,
        )
        yield from measure(
            networks,
            job,
            store,
            cache,
            offline,
        )
        if plan.checkpoints == "needed":
            # The last one stays, for features and readouts by which a study may grow.
            store.drop_checkpoints(job.last)


def is_finished(plan: Plan, store: Store, job: Job) -> bool:
    """Return whether every measurement of a job is intact and merged, after reading the files."""
    # A job that was killed while it merged its files has yet to merge them.
    return store.merged and store.contents()[0].keys() >= set(keys_of(plan, job))


@contextmanager
def _locked(plan: Plan, root: Path, job: Job, wait: bool) -> Iterator[Store]:
    """Lock a job within the block, and yield the store of its results."""
    folder = root / "jobs" / job.name
    make_folder(folder)
    with lock(folder, wait=wait):
        store = store_of(plan, root, job)
        # Only under the lock: unfinished files are then of no running process.
        store.sweep()
        yield store


def _offline_network(plan: Plan, root: Path, seed: int, source: Source) -> nn.Module:
    """Return the offline network of a seed; wait for a process that is training it."""
    job = next(job for job in jobs_of(plan) if (job.kind, job.seed) == (OFFLINE, seed))
    with _locked(
        plan,
        root,
        job,
        wait=True,
    ) as store:
        return offline_network(source, job, store)
