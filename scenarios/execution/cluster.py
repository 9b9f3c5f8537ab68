"""The jobs of a study on a Ray cluster, or on this machine by Ray."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from probe.errors import InputError, NotWritten
from scenarios.execution.executor import Take
from scenarios.execution.following import Following
from scenarios.execution.work import Attempt, Ended, Event, Work, carry_out, one_thread

_POLL = 1.0  # seconds between two looks at what the workers have finished
_AHEAD = 2  # jobs asked for at once for each of the cluster's processors: a cluster may grow


class Cluster:
    """Ray's workers, each with one torch thread, a processor, a share of a GPU and one job.

    They write their results into the run directory themselves, which must be on storage that all
    nodes share under one path; so the loss of a node, or of this process, loses what was being
    done. address: of a cluster (`auto`: the one that this machine belongs to), None = a cluster of
    this machine alone, made for the time; workers: jobs side by side at most, None = as many as
    there is room for; gpus: the share of a GPU that a job takes.
    """

    def __init__(self, address: str | None, workers: int | None, gpus: float) -> None:
        self._address = address
        self._workers = workers
        self._gpus = gpus

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`."""
        work = replace(work, root=work.root.absolute())
        seen = Following(work)
        with _connected(self._address, self._workers) as ray:
            remote = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=0)(_carry_out)
            shared = ray.put(work)
            running: dict[Any, Attempt] = {}
            while True:
                while len(running) < self._room(ray) and (attempt := take()):
                    running[remote.remote(shared, attempt)] = attempt
                    seen.add(attempt.job)
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1, timeout=_POLL)
                yield from seen.new_parts()
                for reference in done:
                    ended = _ended(ray, reference, running.pop(reference))
                    yield from seen.last_parts(ended.job)
                    yield ended

    def _room(self, ray: Any) -> int:
        return self._workers or max(1, _AHEAD * int(ray.cluster_resources().get("CPU", 1)))


def _carry_out(work: Work, attempt: Attempt) -> Ended:
    with one_thread():
        *_, ended = carry_out(work, attempt)
    if not isinstance(ended, Ended):
        raise TypeError(f"expected how {attempt.job.name} ended, got {ended}")
    return ended


def _ended(ray: Any, reference: Any, attempt: Attempt) -> Ended:
    try:
        ended = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, NotWritten):
            raise error.cause from None
        return Ended(job=attempt.job, how="failed", reason=str(error.cause), trace=str(error))
    except ray.exceptions.RayError as error:
        reason = f"its worker is gone ({type(error).__name__})"
        return Ended(job=attempt.job, how="killed", reason=reason)
    return ended if isinstance(ended, Ended) else Ended(job=attempt.job, how="killed")


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a cluster within the block; raises InputError if that is not possible."""
    try:
        import ray
    except ImportError:
        raise InputError(
            "--executor ray needs Ray: install it with pip install 'forgetting-probe[ray]'"
        ) from None
    with _signals_kept():
        try:
            ray.init(
                address=address or "local",
                num_cpus=None if address else workers,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(f"cannot connect to Ray at {address}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _signals_kept() -> Iterator[None]:
    # Ray puts a handler of its own in the place of the one that says how to go on.
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)
