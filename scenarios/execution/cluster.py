"""The jobs of a study on a Ray cluster, or on this machine by Ray.

Ray is an optional dependency and imported only here. It assigns processors and GPUs and
starts one process for each job, which works as in any other executor. Ray neither
retries jobs nor carries results: those are in the run directory, and
`scenarios.execution.schedule` sees to the rest.

Much of this module keeps Ray from changing the process that uses it: its environment,
its handler of SIGTERM, its output. `cluster` finds foreseeable failures before anything
is written.
"""

import importlib.util
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, chdir, contextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from probe.by_layer.jobs import Job
from probe.errors import InputError, NotWritten, Stopped
from scenarios.environment import variables
from scenarios.execution.schedule import Executor, Started, Take, follow
from scenarios.execution.work import Ended, Event, Work, carried_out

_AHEAD = 2  # jobs submitted at once for each processor of the cluster, which may grow
_PAUSE = 0.2  # seconds between two looks at the process of the node

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no statistics of use
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".?",  # no messages between our lines
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # no warning of a future change
}


def cluster(address: str | None, workers: int | None, gpus: float) -> Executor:
    """Return the executor with Ray's workers, each with a processor, a share of a GPU and one job.

    They write their results into the run directory, which must be on storage that all
    nodes share under one path: losing a node, or this process, costs only unfinished
    measurements. An existing connection to Ray is used and kept.

    Args:
        address: The address of a cluster (`auto` for this machine's), None = a
            temporary cluster here.
        workers: The largest number of jobs in parallel, None = as many as fit.
        gpus: The share of a GPU for each job, 0 to 1.

    Returns:
        The executor.

    Raises:
        InputError: Ray is missing, no cluster answers at the address, or jobs need a
            GPU and there is none.
    """
    if importlib.util.find_spec("ray") is None:
        raise InputError(
            "--executor ray needs Ray: pip install 'forgetting-probe[ray]'"
        )
    # Ray itself tries for minutes, but finds at once a cluster without a host and port.
    endpoint = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address or ""
    host, _, port = endpoint.removeprefix("ray://").rpartition(":")
    try:
        if host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, OverflowError, ValueError) as error:
        raise InputError(
            f"no Ray cluster answers at {endpoint} ({error}): "
            "correct --ray-address, or start one with `ray start --head`"
        ) from None
    if address:
        # Only Ray knows where it finds the cluster called auto: a third of a second.
        with _connected(address, None, gpus):
            pass
    return partial(_events, address, workers, gpus)


def _events(
    address: str | None, workers: int | None, gpus: float, work: Work, take: Take
) -> Generator[Event]:
    """Do jobs as Ray's tasks and yield their events, see `Executor`.

    Args:
        address: The address of the cluster, None = a temporary one here.
        workers: The largest number of jobs in parallel, None = as many as fit.
        gpus: The share of a GPU for each job.
        work: The plan and its run directory.
        take: A function that returns the next job.
    """
    work = replace(work, root=work.root.absolute())
    with _connected(address, workers, gpus) as ray:
        remote = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(_on_node)
        # Once for all jobs: the description of a study can be large. In a list Ray does
        # not read it before the node has the folders of the user's modules.
        shared = [ray.put(work)]

        def start(job: Job) -> Started:
            future = remote.remote(shared, job, Path.cwd(), sys.path).future()
            return future, partial(_end_of, ray, future, job)

        def room() -> int:
            # Several for each processor: those without one wait in Ray.
            return workers or max(
                1, _AHEAD * int(ray.cluster_resources().get("CPU", 1))
            )

        yield from follow(work, take, room, start)


def _on_node(
    shared: Sequence[Any], job: Job, folder: Path, modules: Sequence[str]
) -> Ended:
    """Do a job on a node of the cluster; the user's relative paths refer to `folder`.

    shared: Ray's reference to the work; modules: the folders of the user's modules.
    """
    import ray

    _end_with_node()
    sys.path[:] = dict.fromkeys([*modules, *sys.path])
    with chdir(folder) if folder.is_dir() else nullcontext():
        [work] = ray.get(shared)
        return carried_out(work, job)


@cache
def _end_with_node() -> None:
    """End this process as soon as its parent, Ray's process on the node, has ended."""
    # Ray lets a worker run on for a while, and another process that resumes the study
    # would wait.
    parent = os.getppid()

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(_PAUSE)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _end_of(ray: Any, future: Future[Ended], job: Job) -> Ended:
    """Return how a job ended: by itself, by an error or with its process; raises its NotWritten."""
    try:
        return future.result()
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, NotWritten):
            raise error.cause from None
        # The last line is the error itself; those before it are the traceback.
        *_, reason = str(error).splitlines()
        return Ended(job=job, how="failed", reason=reason, trace=str(error))
    except ray.exceptions.RayError as error:
        return Ended(
            job=job, how="killed", reason=f"its worker is gone ({type(error).__name__})"
        )


@contextmanager
def _connected(address: str | None, workers: int | None, gpus: float) -> Iterator[Any]:
    """Connect to a cluster within the block; raises InputError without one, or without its GPUs."""
    # Ray sets variables, too.
    with variables(_QUIET), ExitStack() as stack:
        import ray

        if not ray.is_initialized():
            stack.callback(ray.shutdown)
            _connect(ray, address, workers)
        if gpus > ray.cluster_resources().get("GPU", 0):  # type: ignore[no-untyped-call]
            raise InputError("the Ray cluster has no GPU: add one, or use --device cpu")
        yield ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    """Connect this process to a cluster, or start one; raises InputError if that fails."""
    # Ray replaces our handler, which prints how to continue; it is put back below.
    stop_handler = signal.getsignal(signal.SIGTERM)
    try:
        # Workers import from the folder in which Ray is started: ours, not the user's.
        with chdir(Path(__file__).parents[2]):
            local = {} if address else {"num_cpus": workers, "include_dashboard": False}
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            ray.init(address=address or "local", **local, **quiet)
    # Ended by Ray's own handler of SIGTERM.
    except SystemExit:
        raise Stopped(128 + signal.SIGTERM) from None
    # Ray raises almost anything here.
    except Exception as error:
        where = (
            f"connect to Ray at {address}" if address else "start Ray on this machine"
        )
        raise InputError(
            f"cannot {where} ({error}): check --ray-address and --executor"
        ) from None
    finally:
        signal.signal(signal.SIGTERM, stop_handler)
