"""Work of which some jobs end badly; imported by workers, and so with no more than they need."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch

from probe.errors import InputError, NotWritten
from scenarios.execution.work import Work
from scenarios.study.jobs import Job
from scenarios.study.measurement import Measurement
from scenarios.study.store import Store


@dataclass(frozen=True, kw_only=True)
class Disturbed(Work):
    """Work of which some jobs end badly: by name, how they do and the part that they do not write.

    So `kill step-2`. See `end_badly`.
    """

    badly: dict[str, str] = field(default_factory=dict)

    def store(self, job: Job) -> Store:
        store = super().store(job)
        if job.name in self.badly:
            how, part = self.badly[job.name].split()
            mark = self.root.with_name(f"{job.name}.pid")
            store.write = partial(_write, store, how, part, mark)  # type: ignore[method-assign]
        return store


def _write(store: Store, how: str, bad: str, mark: Path, part: str, measured: Measurement) -> None:
    if part == bad:
        end_badly(how, mark)
    Store.write(store, part, measured)


def end_badly(how: str, mark: Path) -> None:
    match how:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":  # once, to be killed: whoever comes here later goes on
            with suppress(FileExistsError), mark.open("x") as file:
                print(os.getpid(), file=file, flush=True)
                time.sleep(300)
                raise AssertionError("nobody killed this process")
        case "memory":
            raise MemoryError
        case "gpu":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore")
        case "error":
            raise KeyError("nobody foresaw this")
        case "misuse":
            raise InputError("training diverged")
        case "unwritten":
            raise NotWritten("cannot write step-2.json (No space left on device): make room")


def waiting(work: Work, job: str) -> int | None:
    """Return who waits to be killed in a job."""
    with suppress(FileNotFoundError):
        said = work.root.with_name(f"{job}.pid").read_text()
        return int(said) if said.endswith("\n") else None
    return None
