"""Several processes on one run directory: the tables of one, and nothing done twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import torch
from tests.scenarios.study.toy_identity import identity, study

from probe.errors import InputError
from probe.tables.run_directory import TABLES
from probe.values.scratch import MappedRows
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.execution.work import Work
from scenarios.study.overrides import Overrides
from tests.scenarios.execution.forked import a_dead_process, child, exit_code, fork, lock_of, until

STUDY = Overrides(learners=["er", "offline"], seeds=1, orders="shuffle:2", epochs=1, train_limit=8)
FLAGS = ["--learners", "offline", "--seeds", "1", "--epochs", "1"]
LEASE = 0.6


def run(out: Path, executor: str = "inline", lease: float = 60.0) -> int:
    with pytest.MonkeyPatch.context() as patch:
        # Figures take longer than the study, and are drawn from the tables alone.
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        patch.setattr("scenarios.commands.run.Work", partial(Work, lease=lease))
        options = Options(out=out, choice=Choice(executor=executor, workers=1))
        return 0 if run_study("digits", STUDY, options) else 1


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


def parts(out: Path) -> dict[Path, tuple[int, int]]:
    """Return every file of a job: another inode or time means that it was written again."""
    files = (path for path in (out / "jobs").rglob("*") if path.suffix != ".tmp")
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    run(out)
    return out


@pytest.fixture(scope="module")
def undisturbed(whole: Path) -> dict[str, bytes]:
    return tables(whole)


def run_noting(out: Path, notes: Path, **settings: float) -> int:
    """Run and note each file that is put into its place, with the process."""
    replace = os.replace

    def noting(source: Path, target: Path) -> None:
        replace(source, target)
        with notes.open("a") as file:
            file.write(f"{os.getpid()} {Path(target).relative_to(out)}\n")

    os.replace = noting  # type: ignore[assignment]
    return run(out, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("there", [False, True])
def test_processes_started_at_once(
    tmp_path: Path, undisturbed: dict[str, bytes], there: bool
) -> None:
    out, notes = tmp_path / "run", tmp_path / "notes"
    if there:
        out.mkdir()
    processes = [fork(lambda: run_noting(out, notes)) for _ in range(3)]
    assert [exit_code(process) for process in processes] == [0, 0, 0]
    assert tables(out) == undisturbed
    written = [line.split() for line in notes.read_text().splitlines()]
    times = Counter(path for _, path in written if path.startswith("jobs/"))
    assert set(times.values()) == {1}
    assert {out / path for path in times} == set(parts(out))
    # Two jobs take their time and the first to come had only one of them.
    assert len({process for process, path in written if path.startswith("jobs/")}) >= 2
    assert not (out / "locks").exists()
    assert not (out / "quarantine").exists()
    assert not list(out.rglob("*.tmp"))


def test_pools_started_at_once(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    out = tmp_path / "run"
    first: dict[Path, tuple[int, int]] = {}
    processes = [fork(lambda: run(out, "pool")) for _ in range(2)]
    left = set(processes)
    while left:
        first = {**parts_now(out), **first}
        for process in list(left):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                left.remove(process)
                assert os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    assert tables(out) == undisturbed
    assert parts(out).items() >= first.items()
    assert len(first) > 20


def parts_now(out: Path) -> dict[Path, tuple[int, int]]:
    try:
        return parts(out)
    except FileNotFoundError:
        return {}


def test_another_study_is_refused(tmp_path: Path) -> None:
    """Both are started at the same moment, on a directory that is not there yet."""
    command = [sys.executable, "-m", "scenarios", "run", "digits", "--out", str(tmp_path / "run")]
    command += [*FLAGS, "--executor", "inline", "--train-limit"]
    processes = [
        subprocess.Popen(
            [*command, limit], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for limit in ("8", "9")
    ]
    errors = {process.communicate()[1]: process.returncode for process in processes}
    refused, done = sorted(errors, key=lambda error: -errors[error])
    assert errors == {refused: 2, done: 0}
    assert "belongs to another study" in refused
    assert "scenario.train_limit is" in refused
    assert len(refused.splitlines()) == 1
    assert "Traceback" not in done


@pytest.mark.parametrize("same", [True, False])
def test_who_comes_first_owns_the_directory(tmp_path: Path, same: bool) -> None:
    """The first makes folders of its own at once: the second does not take them for a stranger's.

    Many times, with both waiting for one moment.
    """
    one = identity(study())
    other = one if same else identity(study(None, "seeds", 2))

    def claim(chosen: object, root: Path, start: float) -> int:
        while time.monotonic() < start:
            pass
        try:
            chosen.claim(root)  # type: ignore[attr-defined]
        except InputError as error:
            return 2 if "belongs to another study" in str(error) else 3
        (root / "jobs").mkdir(exist_ok=True)
        return 0

    for k in range(15):
        start, root = time.monotonic() + 0.06, tmp_path / str(k)
        processes = [
            fork(partial(claim, chosen, root, start + chance))
            for chosen, chance in ((one, 0.0), (other, random.Random(k).uniform(0, 0.001)))
        ]
        codes = sorted(exit_code(process) for process in processes)
        assert codes == [0, 0] if same else [0, 2]


def test_a_process_that_was_stopped_for_long(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """It stops while it writes; another takes over and finishes; it goes on and spoils nothing."""
    out = tmp_path / "run"

    def stop_in_the_middle() -> int:
        replace = os.replace

        def stopping(source: Path, target: Path) -> None:
            if Path(target).name == "step-2.pt":
                os.replace = replace
                os.kill(os.getpid(), signal.SIGSTOP)
            replace(source, target)

        os.replace = stopping  # type: ignore[assignment]
        return run(out, lease=LEASE)

    with child(stop_in_the_middle) as process:
        os.waitpid(process, os.WUNTRACED)
        assert list(out.rglob("*.tmp"))
        assert run(out, lease=LEASE) == 0
        assert tables(out) == undisturbed
        before = parts(out)
        os.kill(process, signal.SIGCONT)
        assert exit_code(process) == 0
    assert parts(out) == before
    assert tables(out) == undisturbed
    assert not list(out.rglob("*.tmp"))


@pytest.mark.parametrize("name", ["er.order-0.seed-0", "tables"])
@pytest.mark.parametrize("where", [None, "far away"])
def test_a_stale_lock(
    tmp_path: Path, whole: Path, undisturbed: dict[str, bytes], name: str, where: str | None
) -> None:
    """Of a dead process of this machine, or of a machine that is not heard of any more."""
    out = shutil.copytree(whole, tmp_path / "run")
    (out / "jobs" / "er.order-0.seed-0" / "step-5.json").unlink()
    before = parts(out)
    lock_of(out / "locks", name, a_dead_process(), where=where)
    start = time.monotonic()
    run(out, lease=LEASE if where else 60.0)
    assert time.monotonic() - start >= (LEASE if where else 0.0)
    assert tables(out) == undisturbed
    assert parts(out).items() > before.items()
    assert not (out / "locks").exists()


def mad_clock(action: Callable[[], int]) -> int:
    """Run with a clock that jumps by years, in both directions, also in the times of files."""
    chance, clock, utime = random.Random(os.getpid()), time.time, os.utime

    def jumped() -> float:
        return clock() + chance.uniform(-5, 5) * 3e7

    time.time = jumped
    os.utime = lambda path: utime(path, (jumped(), jumped()))  # type: ignore[assignment]
    return action()


def test_clocks_that_jump(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    out, notes = tmp_path / "run", tmp_path / "notes"
    processes = [
        fork(lambda: mad_clock(lambda: run_noting(out, notes, lease=LEASE))) for _ in range(2)
    ]
    assert [exit_code(process) for process in processes] == [0, 0]
    assert tables(out) == undisturbed
    times = Counter(line.split()[1] for line in notes.read_text().splitlines())
    assert {times[path] for path in times if path.startswith("jobs/")} == {1}


def test_a_killed_process_is_replaced_at_once(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """The other one waits for its job: it is not left for a lease, and nothing is done again."""
    out = tmp_path / "run"
    lock = out / "locks" / "er.order-0.seed-0.1.lock"
    with child(lambda: run(out)) as process:
        until(lambda: list(out.glob("jobs/er.order-0.seed-0/step-1.json")))
        os.kill(process, signal.SIGSTOP)
        os.waitpid(process, os.WUNTRACED)
        before = parts(out)
        other = fork(lambda: run(out))
        until(lambda: list(out.glob("jobs/offline.seed-0/step-5.json")))
        assert lock.exists()
        start = time.monotonic()
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert exit_code(other) == 0
    assert time.monotonic() - start < 10
    assert tables(out) == undisturbed
    assert parts(out).items() > before.items()


def test_a_folder_that_another_process_removes(tmp_path: Path) -> None:
    """Who ends removes the empty folder for values that another is about to use."""
    folder = tmp_path / "scratch"

    def remove() -> None:
        while True:
            with suppress(OSError):
                folder.rmdir()
            # On a busy machine it would never let the other come in between.
            time.sleep(0.0001)

    with child(remove):
        for _ in range(300):
            mapped = MappedRows(folder, 2, 3, torch.float32)
            assert mapped.rows.sum() == 0
