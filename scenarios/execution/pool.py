"""The jobs of a study side by side, in processes of this machine.

Every worker is a `ProcessPoolExecutor` of one process. A pool of many processes would be broken as
a whole when one of them is killed, as by the kernel when memory is short, and all jobs with it; so
only one job is lost, and its worker is started again with the next.

Processes are forked from a server (`forkserver`) that has loaded what a job needs but has done
nothing yet: it holds no threads and no GPU, which a fork of this process might. Where there is no
such server they are spawned. Workers do not hear Ctrl-C, as their parent decides for all of them,
and they end at once if their parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.context import BaseContext

from probe.errors import InputError
from scenarios.environment import variable
from scenarios.execution.executor import Finished, Take
from scenarios.execution.work import Ended, Event, Work, carried_out
from scenarios.learners.catalog import MODULES
from scenarios.study.jobs import Job

_POLL = 0.2  # seconds between two looks at what the workers have finished

# Torch loads its compiler with the first optimizer, and a study its small data sets with
# scikit-learn: together that takes a worker longer than a small job. All learners are loaded too:
# so every worker has the same code, whatever is edited while a study runs.
_PRELOADED = (
    "scenarios.execution.work",
    *MODULES.values(),
    "torch._dynamo",
    "sklearn.datasets",
)


class Pool:
    """Processes, each with a device and one job at a time.

    devices: one for each process, as torch names them; several may share a GPU. A process that is
    killed takes only its own job along, as each has a `concurrent.futures` pool to itself.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = devices

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`; raises InputError if there are too many workers to start.

        A worker is started with its first job: no more than there are jobs.
        """
        workers = [_Worker(replace(work, device=device)) for device in self._devices]
        seen = Finished(work)
        try:
            while True:
                for worker in workers:
                    job = None if worker.future else take()
                    if job:
                        worker.start(job)
                        seen.follow(job)
                running = {worker.future: worker for worker in workers if worker.future}
                if not running:
                    return
                done, _ = wait(running, timeout=_POLL, return_when=FIRST_COMPLETED)
                yield from seen.new_parts()
                for future in done:
                    ended = running[future].end()
                    yield from seen.last_parts(ended.job)
                    yield ended
        finally:
            for worker in workers:
                worker.stop()


class _Worker:
    """One process, started again after it was killed."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._pool: ProcessPoolExecutor | None = None
        self._job: Job | None = None
        self.future: Future[Ended] | None = None

    def start(self, job: Job) -> None:
        """Do a job in the process, started if need be; raises InputError if that fails."""
        self._job = job
        try:
            self.future = self._submit_again_if_killed(job)
        except OSError as error:
            raise InputError(
                f"cannot start another worker ({error.strerror}): run the same command again with "
                f"fewer --workers"
            ) from None

    def _submit_again_if_killed(self, job: Job) -> Future[Ended]:
        try:
            return self._submit(job)
        except (BrokenProcessPool, ConnectionError):
            # It was killed while it had nothing to do, or the server that forks it was just now:
            # multiprocessing starts another server once this one has been waited for.
            self.stop()
            time.sleep(_POLL)
            return self._submit(job)

    def end(self) -> Ended:
        """Return how the job has ended whose future is done; frees the worker for another."""
        future, job, self.future = self.future, self._job, None
        if future is None or job is None:
            raise RuntimeError("a worker that was not started cannot end")
        try:
            return future.result()
        except BrokenProcessPool:
            self.stop()
            return Ended(job=job, how="killed", reason="its worker was killed")

    def stop(self) -> None:
        """End the process at once: what it has finished is kept, and the rest can be done again."""
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, job: Job) -> Future[Ended]:
        """Hand a job to the process and return its future."""
        # It is started by `python -c`, which else imports what the current folder has: a pickle.py.
        with variable("PYTHONSAFEPATH", "1"):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, mp_context=_context(), initializer=_prepare)
            with _ctrl_c_held_back():
                return self._pool.submit(carried_out, self._work, job)


def _context() -> BaseContext:
    """Return how processes are started: forked from one that has loaded what a job needs.

    So each after the first starts at once. Spawned where there is no such server.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


def _prepare() -> None:
    """Prepare a worker: deaf to Ctrl-C (the parent decides), gone with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    """End this process as soon as the one behind the sentinel, its parent, has ended."""
    # A killed parent cannot tell its workers: one that went on would write into a run continued
    # by somebody else.
    with suppress(OSError):
        multiprocessing.connection.wait([sentinel])
    os._exit(1)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Let processes that are started within the block be deaf to Ctrl-C from their first moment.

    A terminal sends it to all of them, and what they would say of it is of no use. For this process
    it only comes later.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
