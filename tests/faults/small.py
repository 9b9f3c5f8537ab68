"""A study that takes a fraction of a second, and ways to disturb it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from matplotlib import style

from probe.tables.run_directory import TABLES
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides

STUDY = Overrides(learners=["er", "offline"], seeds=1, orders="none", epochs=1, train_limit=4)
FLAGS = "--learners er,offline --seeds 1 --orders none --epochs 1 --train-limit 4"
JOB = "er.order-0.seed-0"
NOBODY = 65534


def run(out: Path, executor: str = "inline", cache_budget: int | None = None) -> bool:
    """Run or continue the study; figures take longer than all the rest, and are left out."""
    options = Options(out=out, choice=Choice(executor=executor), cache_budget=cache_budget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        return run_study("digits", STUDY, options)


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of every file below a folder, None for what is no file."""
    every = ((path.relative_to(folder), path) for path in sorted(folder.rglob("*")))
    return {
        str(name): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for name, path in every
    }


def copied(source: Path, target: Path) -> Path:
    """Return a copy of a run directory in which nobody is surprised by a change."""
    shutil.copytree(source, target, symlinks=True)
    return target


@contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[Callable[[str], None]]:
    """Mount a small disk at a folder within the block; yields what mounts it anew with others."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk")

    def again(changed: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{changed}", str(folder)], check=True)

    try:
        yield again
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def as_nobody(action: Callable[[], object]) -> str:
    """Do something in a child that is not root; return what came of it, in a line."""
    # They are read when they are first asked for, from a folder of root's.
    style.reload_library()
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(here)
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            said = repr(action())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(there, said.encode()[:4000])
            os._exit(0)
    os.close(there)
    with open(here, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def open_to_all(folder: Path) -> None:
    """Let every user write into a folder, and reach it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    for above in folder.parents:
        if above.stat().st_uid == os.getuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
