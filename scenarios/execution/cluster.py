"""The jobs of a study on a Ray cluster, or on this machine by Ray.

Ray is an optional dependency and imported only where it is used. It deals out processors and GPUs
and starts one process for each job; everything else is as in any other executor: the job is done by
`scenarios.execution.work` and writes to the run directory itself. Ray is not asked to try again or
to carry results: both are in the run directory, and `scenarios.execution.schedule` sees to the
rest.

Much of this module keeps Ray from changing the process that uses it: its environment, its handler
of SIGTERM, its output. What can go wrong with a cluster is found out in the constructor, before
anything is written.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from probe.errors import InputError, NotWritten
from scenarios.execution.executor import Finished, Take
from scenarios.execution.work import Ended, Event, Work, carried_out
from probe.by_layer.jobs import Job

_POLL = 1.0  # seconds between two looks at what the workers have finished
_AHEAD = 2  # jobs asked for at once for each of the cluster's processors: a cluster may grow
_PATIENCE = 5.0  # seconds in which a cluster's address must answer

_OURS = Path(__file__).parents[2]

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # what we use Ray for is nobody's business
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".?",  # what Ray has to say would stand between our lines
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it a warning of what is to change
}


class Cluster:
    """Ray's workers, each with a processor, a share of a GPU and one job.

    They write their results into the run directory themselves, which must be on storage that all
    nodes share under one path; so the loss of a node, or of this process, loses what was being
    done.

    address: of a cluster (`auto`: the one that this machine belongs to), None = a cluster of this
    machine alone, made for the time; workers: jobs side by side at most, None = as many as there is
    room for; gpus: the share of a GPU that a job takes, 0 to 1. A connection to Ray that this
    process has already is used and kept. Raises InputError without Ray, if nobody answers at the
    address, and if there is no GPU there for the jobs to share: all before anything is written.
    """

    def __init__(self, address: str | None, workers: int | None, gpus: float) -> None:
        if importlib.util.find_spec("ray") is None:
            raise InputError(
                "--executor ray needs Ray: install it with pip install 'forgetting-probe[ray]'"
            )
        if address:
            _refuse_unless_answered(address)
            _refuse_unless_connected(address, gpus)
        self._address = address
        self._workers = workers
        self._gpus = gpus

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`; raises InputError if there is no GPU for the jobs to share."""
        work = replace(work, root=work.root.absolute())
        seen = Finished(work)
        with _connected(self._address, self._workers) as ray:
            _refuse_without_gpu(ray, self._gpus)
            remote = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=0)(_on_node)
            # Once for all jobs: a study's description can be large.
            shared = ray.put(work)
            running: dict[Any, Job] = {}
            while True:
                while len(running) < self._room(ray) and (job := take()):
                    running[remote.remote(shared, job, Path.cwd())] = job
                    seen.follow(job)
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1, timeout=_POLL)
                yield from seen.new_parts()
                for reference in done:
                    ended = _ended(ray, reference, running.pop(reference))
                    yield from seen.last_parts(ended.job)
                    yield ended

    def _room(self, ray: Any) -> int:
        """Return how many jobs may be asked for at once; those without a processor wait in Ray."""
        return self._workers or max(1, _AHEAD * int(ray.cluster_resources().get("CPU", 1)))


def _on_node(work: Work, job: Job, folder: Path) -> Ended:
    """Do a job on a node; folder: where the command was given."""
    # What the user named, as a file of features, is named from where the command was given.
    here = chdir(folder) if folder.is_dir() else nullcontext()
    with _gone_with(os.getppid()), here:
        return carried_out(work, job)


@contextmanager
def _gone_with(parent: int) -> Iterator[None]:
    """End this process at once if its parent, Ray's own process on the node, ends.

    Ray itself lets a worker go on for a while, which whoever continues the study had to wait for.
    """
    done = threading.Event()

    def follow() -> None:
        while not done.wait(_POLL / 5):
            if os.getppid() != parent:
                os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _ended(ray: Any, reference: Any, job: Job) -> Ended:
    """Return how a job ended, whether it told so itself, failed or lost its process.

    Raises NotWritten if that is what the job did.
    """
    try:
        ended = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, NotWritten):
            raise error.cause from None
        # Its last line is the error itself; those before it are the trace.
        *_, reason = str(error).splitlines()
        return Ended(job=job, how="failed", reason=reason, trace=str(error))
    except ray.exceptions.RayError as error:
        reason = f"its worker is gone ({type(error).__name__})"
        return Ended(job=job, how="killed", reason=reason)
    return ended if isinstance(ended, Ended) else Ended(job=job, how="killed")


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a cluster within the block; raises InputError if that is not possible."""
    with _environment_kept():
        import ray

        if ray.is_initialized():
            yield ray
            return
        try:
            # Its workers import from the folder in which it is started: no user's, but ours.
            with _signals_kept(), chdir(_OURS):
                ray.init(
                    address=address or "local",
                    num_cpus=None if address else workers,
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
        except SystemExit:
            # What the handler makes of SIGTERM that Ray has while it starts.
            ray.shutdown()
            raise SystemExit(128 + signal.SIGTERM) from None
        # Ray has no class for what can go wrong here, and raises almost anything.
        except Exception as error:
            ray.shutdown()
            where = f"connect to Ray at {address}" if address else "start Ray on this machine"
            raise InputError(
                f"cannot {where} ({error}): correct --ray-address or use another --executor"
            ) from None
        try:
            yield ray
        finally:
            ray.shutdown()


def _refuse_unless_connected(address: str, gpus: float) -> None:
    """Raise InputError unless Ray can be reached at the address, with a GPU if jobs need one."""
    # Only Ray knows where it finds the cluster called auto, and that costs a third of a second.
    with _connected(address, None) as ray:
        _refuse_without_gpu(ray, gpus)


def _refuse_without_gpu(ray: Any, gpus: float) -> None:
    """Raise InputError if jobs need a GPU and the cluster has none."""
    if gpus > ray.cluster_resources().get("GPU", 0):
        raise InputError("no GPU is part of the Ray cluster: add one, or use --device cpu")


def _refuse_unless_answered(address: str) -> None:
    """Raise InputError if nobody answers at the host and port of an address within _PATIENCE."""
    # Ray itself tries for minutes. What it finds without a host and a port, it finds at once.
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", address)
    match = re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d{1,5})", address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster answers at {address} ({error}): correct --ray-address, or start the "
            f"cluster with `ray start --head`"
        ) from None


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Lend the process what Ray and its own processes read from the environment."""
    before = dict(os.environ)
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        # Ray adds to it, too.
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Put the handler of SIGTERM back after the block."""
    # Ray puts a handler of its own in the place of the one that says how to go on.
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)
