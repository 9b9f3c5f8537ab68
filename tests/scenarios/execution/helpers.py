"""A study whose jobs take a tenth of a second, jobs that end badly, and other processes."""

import os
import signal
import time
import tomllib
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import pytest
import torch

from probe.by_layer.jobs import jobs_of
from probe.by_layer.networks import Source
from probe.by_layer.store import Store
from probe.errors import InputError, NotWritten
from probe.locks import lock
from probe.results.tables import write_tables
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.execution.schedule import execute
from scenarios.execution.work import Ended, Work
from scenarios.options import RunOptions
from scenarios.study.plan import plan_of, study_networks
from scenarios.study.study_file import check_study
from scenarios.user_code import UserCode
from tests.scenarios.table_names import TABLES

TINY = Path(__file__).with_name("tiny.toml")
FIRST = "finetune.order-there.seed-0"
SICK = "finetune.order-back.seed-0"


def run(out, study=TINY, **flags):
    """Run or resume a study in this process, without figures, which take longer."""
    # Workers import this module, and need not load the figures.
    from scenarios.commands.run import run_study

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
        return run_study(
            str(study), RunOptions(out=out, **{"executor": "inline", **flags})
        )


def tables(root):
    return {name: (root / name).read_bytes() for name in TABLES}


@dataclass(frozen=True)
class Disturbed:
    """Networks of which jobs end badly at a measurement: `kill output after 2`. See `end_badly`."""

    source: Source
    badly: dict[str, str]

    @property
    def plan(self):
        return self.source.plan

    def networks(self, job, results):
        if job.name in self.badly:
            how, name = self.badly[job.name].split(" ", 1)
            mark = results.root.with_name(f"{job.name}.pid")

            def write(key, measurement):
                if str(key) == name:
                    end_badly(how, mark)
                Store.write(results, key, measurement)

            results.write = write
        return self.source.networks(job, results)


@contextmanager
def disturbed(loader, badly, plan, device):
    """Load networks of which jobs end badly."""
    with loader(plan, device) as source:
        yield Disturbed(source, badly)


ERRORS = {
    "memory": MemoryError(),
    "gpu": torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB\nmore"
    ),
    "error": KeyError("nobody foresaw this"),
    "misuse": InputError("training diverged"),
    "exit": SystemExit(0),
    "unwritten": NotWritten(
        "cannot write predictions.npz (No space left on device): make room"
    ),
}


def end_badly(how, mark):
    """End as it says: by an error of above, by `kill`, or `wait` once to be killed by somebody."""
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how != "wait":
        raise ERRORS[how]
    with suppress(FileExistsError), mark.open("x") as file:
        print(os.getpid(), file=file, flush=True)
        time.sleep(300)
        raise AssertionError("nobody killed this process")


def waiting(work, job):
    """Return who waits to be killed in a job."""
    with suppress(FileNotFoundError):
        said = work.root.with_name(f"{job}.pid").read_text()
        return int(said) if said.endswith("\n") else None
    return None


def work_of(root, badly=None, **changes):
    """Return work in a folder, which is made; changes: of the study."""
    root.mkdir(exist_ok=True)
    raw = tomllib.loads(TINY.read_text())
    cpu = torch.device("cpu")
    study = check_study({"name": "tiny", **raw, **changes}, "tiny")
    loader = partial(study_networks, study, Location(), UserCode())
    return Work(
        plan=plan_of(study, study.scenario.scenario(Location()), cpu),
        loader=partial(disturbed, loader, badly or {}),
        device="cpu",
        root=root,
        cache=CacheSettings(scratch=root / "scratch").settled(cpu, 1),
    )


def jobs_in(work):
    return jobs_of(work.plan)


def finish(work, executor):
    """Do all jobs and write the tables; return how each job ended, by its name."""
    ends = [
        event
        for event in execute(work, jobs_in(work), executor)
        if isinstance(event, Ended)
    ]
    write_tables(work.plan, work.root)
    assert len({end.job for end in ends}) == len(ends)
    return {end.job.name: end for end in ends}


def folder_of(work, job):
    return work.root / "jobs" / job.name


@contextmanager
def locked(folder):
    """Hold the lock of a folder, which may have to be made, as another process would."""
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder):
        yield


def fork(action):
    """Run in a silent child; its exit code: a number returned, 1 for False, 99 for an error."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        # The server of a pool's workers belongs to the process that has started it.
        forkserver._forkserver.__init__()  # type: ignore[misc]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        returned = action()
        code = returned if type(returned) is int else int(returned is False)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(process):
    """Wait for a child; the code is negative if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def child(action):
    """Run in a child, which is killed at the end of the block if it still runs."""
    process = fork(action)
    try:
        yield process
    finally:
        with suppress(ChildProcessError, ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def until(condition, seconds=600):
    """Wait for a condition; the limit only keeps a broken test from hanging."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def alive(process):
    with suppress(OSError):
        return (
            Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            not in "ZX"
        )
    return False


def ignores_ctrl_c(process):
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        [ignored] = [line.split()[1] for line in lines if line.startswith("SigIgn")]
        return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)
    return False


def workers_of(process):
    """Return the workers of a pool that run: what the server of the process has forked."""
    workers = []
    for server in _children(process):
        if b"forkserver" in _command(server):
            workers += filter(alive, _children(server))
    return workers


def _command(process):
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _children(process):
    children = ""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += path.read_text()
    return [int(each) for each in children.split()]
