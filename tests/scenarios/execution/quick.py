"""A study whose jobs take a second, some of which end badly, and a killer of processes."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from probe.processes import birth
from scenarios.study.identity import Identity, identify

from probe.errors import NotWritten
from probe.tables.run_directory import TABLES
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.execution.executor import Executor, Take
from scenarios.execution.schedule import execute
from scenarios.execution.work import Ended, Event, Work
from scenarios.study.job import Job, jobs_of
from scenarios.study.source import check_study
from scenarios.study.spec import Study
from scenarios.study.store import Measurement, Store
from scenarios.study.tables import write_tables


def toml(epochs: int, retraining: int) -> str:
    """Return the study as a user writes it; retraining: epochs of the retrained models."""
    return f"""
[scenario]
data = "digits"
[network]
name = "mlp"
features = ["hidden1", "hidden2"]
[training]
epochs = {epochs}
[retraining]
epochs = {retraining}
[learners.finetune]
[learners.er]
memory_per_class = 2
[learners.offline]
[orders]
there = [1, 2, 3, 4, 5]
back = [5, 4, 3, 2, 1]
"""


TOML = toml(epochs=6, retraining=12)


@dataclass(frozen=True, kw_only=True)
class Ill(Work):
    """Work of which one job ends badly: when its part `step-2` is to be written.

    how: `kill`: by kill -9 of its process; `memory`, `gpu`: by what there is too little of;
    `error`: by an error that nobody foresaw; `unwritten`: by one that ends the study. waits: jobs
    and parts which they do not write until somebody has killed them there, once.
    """

    job: str = ""
    how: str = ""
    waits: tuple[tuple[str, str], ...] = ()

    def store(self, job: Job, allowed: Callable[[], object] = lambda: None) -> Store:
        part = dict(self.waits).get(job.name, "")
        how = self.how if job.name == self.job else ""
        return IllStore(self.root, self.identity.of(job), allowed, how, part)


class IllStore(Store):
    def __init__(
        self, root: Path, identity: str, allowed: Callable[[], object], how: str, waits: str
    ) -> None:
        super().__init__(root, identity, allowed)
        self._how = how
        self._waits = waits

    def write(self, job: str, part: str, measured: Measurement) -> None:
        if part == self._waits:
            wait_to_be_killed(self.root.with_name(f"{job}.pid"))
        if part == "step-2":
            end_badly(self._how)
        super().write(job, part, measured)


def wait_to_be_killed(mark: Path) -> None:
    """Say who waits, and wait; whoever comes here later goes on."""
    with suppress(FileExistsError), mark.open("x") as file:
        file.write(f"{os.getpid()}\n")
        file.flush()
        time.sleep(300)
        raise AssertionError("nobody killed this process")


def end_badly(how: str) -> None:
    match how:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "memory":
            raise MemoryError
        case "gpu":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        case "error":
            raise KeyError("nobody foresaw this")
        case "unwritten":
            raise NotWritten("cannot write step-2.json (No space left on device): make room")


def study_of(**changes: Any) -> Study:
    return check_study({"name": "quick", **tomllib.loads(TOML), **changes}, "quick")


def identity_of(study: Study) -> Identity:
    return identify(study, study.scenario.scenario(Location(None)), torch.device("cpu"))


def work_of(
    root: Path,
    study: Study,
    job: str = "",
    how: str = "",
    waits: Sequence[tuple[str, str]] = (),
) -> Ill:
    root.mkdir(exist_ok=True)
    cache = CacheSettings(storage=study.storage, scratch=root / "scratch")
    return Ill(
        identity=identity_of(study),
        location=Location(None),
        device="cpu",
        root=root,
        cache=cache.settled(torch.device("cpu"), 1),
        job=job,
        how=how,
        waits=tuple(waits),
    )


def jobs_in(work: Work) -> list[Job]:
    return jobs_of(work.identity.study, len(work.identity.tasks))


def finish(work: Work, executor: Executor, wait: bool = True) -> list[Ended]:
    """Do all jobs and write the tables; return how the jobs ended."""
    events = list(execute(work, jobs_in(work), executor, wait))
    write_tables(work.identity, work.root)
    return [event for event in events if isinstance(event, Ended)]


def tables(root: Path) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in TABLES}


def lines(table: bytes, job: Job) -> list[bytes]:
    """Return what a table of rows says of a job."""
    order = f"{job.order}," if job.order else ","
    return [line for line in table.splitlines() if f",{job.learner},{order}".encode() in line]


@dataclass
class Watched:
    """An executor whose own events are kept."""

    executor: Executor
    seen: list[Event] = field(default_factory=list)

    def events(self, work: Work, take: Take) -> Iterator[Event]:
        for event in self.executor.events(work, take):
            self.seen.append(event)
            yield event

    def ended(self, how: str) -> list[str]:
        """Return the jobs of which an attempt ended so, sorted."""
        ends = (event for event in self.seen if isinstance(event, Ended))
        return sorted(end.job.name for end in ends if end.how == how)


@dataclass(frozen=True)
class Kill:
    """What was killed: a process, and which others there were right before and a moment after."""

    process: int
    before: frozenset[int]
    after: frozenset[int]


@contextmanager
def killer(chosen: Sequence[Callable[[], int | None]]) -> Iterator[list[Kill]]:
    """Kill -9 within the block what each of `chosen` returns, as soon as it returns a process.

    After the block all of them must have been killed: a test without its kill tests nothing.
    """
    kills: list[Kill] = []
    done = threading.Event()

    def work() -> None:
        left = list(chosen)
        while left and not done.wait(0.001):
            for choose in list(left):
                process = choose()
                if process is not None:
                    left.remove(choose)
                    kills.append(kill(process))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield kills
    finally:
        done.set()
        thread.join()
    assert len(kills) == len(chosen)


def kill(process: int) -> Kill:
    """Kill -9 a process and wait until it is gone."""
    before = children()
    os.kill(process, signal.SIGKILL)
    until(lambda: birth(process) is None)
    return Kill(process, before, children())


def children() -> frozenset[int]:
    """Return the workers of a pool in this process that run."""
    return workers_of(os.getpid())


def workers_of(process: int) -> frozenset[int]:
    """Return the workers of a pool in a process that run."""
    found: list[str] = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += path.read_text().split()
    return frozenset(int(child) for child in found if is_worker(child))


def is_worker(process: str) -> bool:
    with suppress(OSError):
        return b"spawn_main" in Path("/proc", process, "cmdline").read_bytes()
    return False


def holders(root: Path, job: str = "*") -> list[int]:
    """Return the processes that run and have a job of that name."""
    found = []
    for path in (root / "locks").glob(f"{job}.*.lock"):
        with suppress(OSError, ValueError):
            said = json.loads(path.read_bytes())
            if birth(said["process"]) == said["birth"]:
                found.append(said["process"])
    return found


def waiting(work: Work, job: str) -> Callable[[], int | None]:
    """Return who waits to be killed in a job, None before."""

    def choose() -> int | None:
        with suppress(FileNotFoundError):
            said = work.root.with_name(f"{job}.pid").read_text()
            return int(said) if said.endswith("\n") else None
        return None

    return choose


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
