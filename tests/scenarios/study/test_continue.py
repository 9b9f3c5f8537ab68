"""Killed at any moment and started again, a study gives the same tables, bit for bit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probe.tables.rows import TimeRow, read_table
from probe.tables.run_directory import TABLES, TIMES
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides
from tests.soak.campaign import Campaign
from tests.soak.driver import warm
from tests.soak.kinds import INLINE
from tests.soak.laws import Broken

STUDY = Overrides(learners=["er", "offline"], seeds=1, orders="shuffle:2", epochs=1, train_limit=8)
FLAGS = ["--learners", "er,offline", "--seeds", "1", "--orders", "shuffle:2"]
FLAGS += ["--epochs", "1", "--train-limit", "8"]


def run(out: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Figures take longer than the study, and are drawn from the tables alone.
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        run_study("digits", STUDY, Options(out=out, choice=Choice(workers=1)))


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


def tasks_timed(out: Path) -> int:
    """Return for how many tasks there is a time, which no two runs have the same."""
    return len(
        {(t.learner, t.order, t.step) for t in read_table(out / TIMES, TimeRow) if t.seconds}
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "run"
    run(out)
    return tables(out)


@contextmanager
def child(action: Callable[[], None]) -> Iterator[int]:
    """Run in a forked child; it is gone after the block."""
    process = os.fork()
    if process == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            action()
        finally:
            os._exit(0)
    try:
        yield process
    finally:
        os.waitpid(process, 0)


def run_until_write(out: Path, count: int) -> None:
    """Run and die by SIGKILL right before the write number `count` takes effect."""
    replace, left = os.replace, [count]

    def deadly(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    os.replace = deadly  # type: ignore[assignment]
    run_study("digits", STUDY, Options(out=out, choice=Choice(workers=1)))


def test_killed_at_every_write(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """The starts die in turn in their 1st, 2nd ... 8th write.

    Every start writes study.json first; a step of training takes four writes, the tables six.
    """
    out, starts = tmp_path / "run", 0
    while not (out / TABLES[-1]).exists():
        count = 1 + starts % 8
        with child(lambda count=count: run_until_write(out, count)):  # type: ignore[misc]
            starts += 1
        assert starts < 200
    assert starts > 15
    run(out)
    assert tables(out) == undisturbed
    assert tasks_timed(out) == 2 * 5 + 1
    assert not list(out.rglob("*.tmp"))
    assert not (out / "quarantine").exists()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A few kills of `make soak`."""
    return Campaign(tmp_path_factory.mktemp("soak"), seed=0, ways=[(warm, INLINE)])


@pytest.mark.parametrize(
    "kind", ["the only process", "one of two on one directory", "one of three shards"]
)
def test_killed_at_random_moments(campaign: Campaign, kind: str) -> None:
    outcome = campaign.carry_out(kind, wanted=2, until=time.monotonic() + 60)
    assert outcome.broken == []
    assert outcome.kills >= 2


def rewrite(root: Path) -> None:
    part = root / "jobs" / "offline.seed-0" / "step-5.json"
    content = part.read_bytes()
    part.unlink()
    part.write_bytes(content)


def cut(root: Path) -> None:
    part = root / "jobs" / "offline.seed-0" / "step-5.pt"
    part.write_bytes(part.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("crime", "said"),
    [
        (rewrite, r"step-5\.json was finished and has been written again"),
        (cut, "is not whole"),
        (lambda root: (root / "jobs" / "offline.seed-0" / "step-5.json").unlink(), "written again"),
        (lambda root: (root / "rows.csv").write_text("1"), r"rows\.csv is not the expected one"),
        (lambda root: (root / "costs.csv").unlink(), r"there is no costs\.csv"),
        (lambda root: (root / "rows.csv.tmp").touch(), r"there are left: .*rows\.csv\.tmp"),
        (lambda root: (root / "locks").mkdir(), "there are left: locks"),
        (lambda root: (root / "quarantine").mkdir(), "something was set aside"),
    ],
)
def test_the_witness_sees_what_is_wrong(
    tmp_path: Path, campaign: Campaign, crime: Callable[[Path], object], said: str
) -> None:
    root = tmp_path / "run"
    shutil.copytree(campaign.place("whole-warm-inline-0").root, root)
    witness = campaign.witness(root)
    witness.end()
    crime(root)
    with pytest.raises(Broken, match=said):
        witness.end()


def test_killed_with_values_on_the_disk(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """Killed while the values of three features are memory-mapped, and those of one."""
    out = tmp_path / "run"
    kept = Options(out=out, choice=Choice(workers=1), cache_budget=0)

    def die_after(feature: str) -> None:
        replace = os.replace

        def deadly(source: Path, target: Path) -> None:
            replace(source, target)
            if Path(target).stem == f"feature-{feature}":
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = deadly  # type: ignore[assignment]
        run_study("digits", STUDY, kept)

    for feature in ("conv1", "conv2"):
        with child(lambda feature=feature: die_after(feature)):  # type: ignore[misc]
            pass
        assert list((out / "scratch").iterdir()) == []
    run_study("digits", STUDY, kept)
    assert tables(out) == undisturbed
    assert not (out / "scratch").exists()


def test_workers_killed_with_their_parent(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """The command line in two processes, killed as a group, then continued by one."""
    out = tmp_path / "run"
    command = [sys.executable, "-m", "scenarios", "run", "digits", "--out", str(out)]
    command += [*FLAGS, "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while not list(out.glob("jobs/*/step-2.json")):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert not (out / "rows.csv").exists()
    run(out)
    assert tables(out) == undisturbed


def test_a_killed_parent_takes_its_workers_along(tmp_path: Path) -> None:
    """Only the parent is killed: no worker may go on writing into the run directory."""
    out = tmp_path / "run"
    command = [sys.executable, "-m", "scenarios", "run", "digits", "--out", str(out)]
    command += ["--workers", "2", "--epochs", "50"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while not list(out.glob("jobs/*/step-1.json")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    deadline = time.monotonic() + 5
    while alive(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_finished_study_computes_nothing(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    out = tmp_path / "run"
    run(out)
    before = {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*")}
    times = (out / TIMES).read_bytes()
    run(out)
    assert (out / TIMES).read_bytes() == times
    assert {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*")} == before
    assert tables(out) == undisturbed


@pytest.mark.parametrize("victim", ["step-2.json", "step-5.pt", "step-1.learner.pt"])
def test_damage_is_computed_anew(
    tmp_path: Path, undisturbed: dict[str, bytes], victim: str
) -> None:
    """A damaged file is never trusted; what it held is computed again where it is needed."""
    out = tmp_path / "run"
    run(out)
    job = out / "jobs" / "er.order-0.seed-0"
    damaged = bytearray((job / victim).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (job / victim).write_bytes(damaged)
    (job / "feature-conv1.json").unlink()
    run(out)
    assert tables(out) == undisturbed


@pytest.mark.parametrize("lost", ["step-0.json", "step-1.json", "step-4.json"])
def test_a_lost_evaluation_is_done_again_and_nothing_else(
    tmp_path: Path, undisturbed: dict[str, bytes], lost: str
) -> None:
    """What was learned before and later is whole: no task is learned again."""
    out = tmp_path / "run"
    run(out)
    job = out / "jobs" / "er.order-0.seed-0"
    before = {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*.*")}
    (job / lost).unlink()
    run(out)
    after = {path: path.stat().st_mtime_ns for path in (out / "jobs").rglob("*.*")}
    assert {path.name for path in after if path.is_file() and after[path] != before[path]} == {lost}
    assert tables(out) == undisturbed
