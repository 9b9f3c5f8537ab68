"""A tiny study that is finished, and its command given again in this process."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from probe.files import make_folder, replacing
from probe.tables.run_directory import TABLES, TIMES
from scenarios.commands import run as module
from scenarios.commands.main import main

TOML = """
orders = "none"
[scenario]
data = "{data}"
train_limit = 5
[network]
name = "mlp"
[training]
epochs = 1
[learners.finetune]
[learners.offline]
"""
DIGITS = TOML.format(data="digits")
JOB, OTHER_JOB = "finetune.order-0.seed-0", "offline.seed-0"
FIGURES = ("depth.png", "depth.svg")
RESULTS = "Partial Retrain Accuracy"  # what is printed of them begins with this
_LONGEST = 30  # seconds of a command, which takes a fraction of one


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command has said; short: whether the study was recognized as finished."""

    code: int
    out: str
    err: str
    short: bool

    @property
    def results(self) -> str:
        """What it has shown once the study was finished."""
        return self.out[self.out.index(RESULTS) :]


def probe(*words: object, draw: bool = False) -> Said:
    """Give a command of `probe`; figures take longer than the study, and are made up if not drawn.

    Raises what the command line lets through, as a user would see a traceback.
    """
    out, err, long = io.StringIO(), io.StringIO(), list[object]()
    true = module.run_study

    def seen(*arguments: object) -> bool:
        long.append(arguments)
        return true(*arguments)  # type: ignore[arg-type]

    shown = redirect_stdout(out), redirect_stderr(err)
    with pytest.MonkeyPatch.context() as patch, _limited(), shown[0], shown[1]:
        patch.setattr(sys, "argv", ["probe", *map(str, words)])
        patch.setattr(module, "run_study", seen)
        if not draw:
            patch.setattr(module, "build", drawn)
        patch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as stop:
            main()
    assert isinstance(stop.value.code, int)
    return Said(code=stop.value.code, out=out.getvalue(), err=err.getvalue(), short=not long)


@contextmanager
def _limited() -> Iterator[None]:
    """Fail if the block takes so long that it never ends."""

    def end(*_: object) -> None:
        raise AssertionError(f"this takes more than {_LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def drawn(root: Path) -> None:
    """Write figures that are made of the tables, as the true ones are."""
    make_folder(root / "figures")
    for name in FIGURES:
        with replacing(root / "figures" / name) as partial:
            partial.write_text(name + hashlib.sha256(repr(tables(root)).encode()).hexdigest())


def again(folder: Path, *flags: object) -> Said:
    """Give the command of the study tiny.toml of a folder, with its run directory beside it."""
    return probe("run", folder / "tiny.toml", "--out", folder / "run", "--workers", 1, *flags)


def finished(folder: Path, toml: str = DIGITS) -> Path:
    """Write the study's file and run it; return its run directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.toml").write_text(toml, encoding="utf-8")
    said = again(folder)
    assert (said.code, said.err, said.short) == (0, "", False)
    return folder / "run"


def copied(run: Path, folder: Path) -> Path:
    """Return a copy of a run directory in that folder, beside a copy of the study's file."""
    folder.mkdir(parents=True)
    paths = [str(run), str(run.parent / "tiny.toml")]
    subprocess.run(["cp", "-a", *paths, str(folder)], check=True)
    return folder / run.name


def tables(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in TABLES}


def shown(run: Path) -> dict[str, bytes]:
    """Return the tables, the times among them, and the figures, whatever others are there."""
    figures = {f"figures/{name}": (run / "figures" / name).read_bytes() for name in FIGURES}
    return {**tables(run), TIMES: (run / TIMES).read_bytes(), **figures}


def touched(run: Path) -> dict[str, tuple[int, ...]]:
    """Return for everything in a run directory what a change of any kind changes."""
    found = {path: os.lstat(path) for path in (run, *run.rglob("*"))}
    return {
        str(path.relative_to(run)): (s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_size, s.st_mode)
        for path, s in found.items()
    }


def made(file: Path, seed: int) -> Path:
    """Write a feature file of 4 classes, as long as any other of these."""
    chance = np.random.default_rng(seed)
    x, y = chance.normal(size=(40, 6)).astype(np.float32), np.arange(40) % 4
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)
    return file


def mended(run: Path, proto: Path) -> None:
    """Check that the same command sees the change and mends it, and is short only after that."""
    said = again(run.parent)
    assert (said.code, said.err, said.short) == (0, "", False)
    assert tables(run) == tables(proto)
    once_more = again(run.parent)
    assert (once_more.code, once_more.short) == (0, True)
    assert once_more.results == said.results
    assert tables(run) == tables(proto)


def goes_on(folder: Path, *flags: object) -> None:
    """Check that it takes the long way to the same end, and only once."""
    before = shown(folder / "run")
    long, short = again(folder, *flags), again(folder, *flags)
    assert (long.code, long.short) == (0, False)
    assert (short.code, short.short) == (0, True)
    assert short.results == long.results
    assert shown(folder / "run") == before
