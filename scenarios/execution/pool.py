"""The jobs of a study in parallel, in processes of this machine.

Every worker is a `ProcessPoolExecutor` of one process. A pool of many processes would
break as a whole when one of them is killed, for example by the kernel when memory is
short; here only the job of that process is lost, and its worker is restarted with the
next.

Processes are forked from a server (`scenarios.execution.server`). Workers ignore
Ctrl-C, as their parent decides for all of them, and end at once with their parent.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing.context import BaseContext

from probe.by_layer.jobs import Job
from probe.errors import InputError
from scenarios.execution.schedule import Started, Take, follow
from scenarios.execution.server import ctrl_c_held_back, start_server
from scenarios.execution.work import Ended, Event, Work, carried_out


def pool(devices: Sequence[str], work: Work, take: Take) -> Generator[Event]:
    """Do jobs in several processes, each with a device and one job at a time, see `Executor`.

    A worker is started with its first job, so there are never more workers than jobs.

    Args:
        devices: The device of each process, as torch names it; several processes may
            share a GPU.
        work: The plan and its run directory.
        take: A function that returns the next job.

    Yields:
        The events.

    Raises:
        InputError: There are too many workers to start.
    """
    idle = [_Worker(replace(work, device=device)) for device in reversed(devices)]
    workers = tuple(idle)

    def start(job: Job) -> Started:
        """Start a job in an idle worker, which is idle again once `end` has been called."""
        worker = idle.pop()
        future = worker.start(job)

        def end() -> Ended:
            idle.append(worker)
            return worker.ended(future, job)

        return future, end

    try:
        yield from follow(work, take, lambda: len(workers), start)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """One process, restarted after it is killed."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._pool: ProcessPoolExecutor | None = None

    def start(self, job: Job, again: bool = True) -> Future[Ended]:
        """Do a job in the process, started if need be; raises InputError if that fails."""
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, _context(), initializer=_prepare)
            with ctrl_c_held_back():
                return self._pool.submit(carried_out, self._work, job)
        except (BrokenProcessPool, ConnectionError):
            if not again:
                raise
            # It was killed while idle, or the server that forks it was: multiprocessing
            # starts another server once this one has been waited for.
            self.stop()
            time.sleep(0.2)
            return self.start(job, again=False)
        except (OSError, RuntimeError) as error:  # of a process, or of a thread
            reason = getattr(error, "strerror", error)
            raise InputError(
                f"cannot start a worker ({reason}): use fewer --workers"
            ) from None

    def ended(self, future: Future[Ended], job: Job) -> Ended:
        """Return how a job ended; `future` is finished."""
        try:
            return future.result()
        except BrokenProcessPool:
            self.stop()
            return Ended(job=job, how="killed", reason="its worker was killed")

    def stop(self) -> None:
        """End the process at once: finished measurements are kept, others can be repeated."""
        if self._pool is None:
            return
        pool = self._pool
        self._pool = None
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _context() -> BaseContext:
    """Return the multiprocessing context that forks processes from a server."""
    start_server()
    context = multiprocessing.get_context("forkserver")
    # An empty process, to wait until the server has imported everything: Ctrl-C may end
    # this wait, while there is no worker that it could leave without a parent.
    nothing = context.Process(target=int)
    try:
        nothing.start()
    except (EOFError, OSError) as error:
        raise InputError(
            "the process that starts the workers was killed (out of memory?): run the "
            "same command again, or with --workers 1"
        ) from error
    nothing.join()
    return context


def _prepare() -> None:
    """Make a worker ignore Ctrl-C and end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended."""
    # A killed parent cannot stop its workers, and another process may have resumed the
    # study.
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
