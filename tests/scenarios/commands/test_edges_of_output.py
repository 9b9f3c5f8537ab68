"""What is printed has no reader, no room or an encoding without ±: seen from real processes."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from scenarios.commands.screen.stopping import HOW_TO_GO_ON
from tests.bad_input.refused import contents
from tests.scenarios.execution.helpers import (
    alive,
    handles_signals,
    results,
    run,
    tables,
    until,
    workers_of,
)

STUDY = """
orders = "none"
seeds = 2
[scenario]
data = "digits"
train_limit = 4
[network]
name = "mlp"
features = ["hidden1"]
[training]
epochs = 1
[learners.finetune]
"""
SHORT = ["list", "--help", "metrics R.csv", pytest.param("status run", marks=pytest.mark.slow)]
HIDDEN = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "FORCE_COLOR", "RAY_ADDRESS")
ASCII = {"PYTHONIOENCODING": "ascii"}
C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FULL = "error: cannot write the output (No space left on device): make room, or send it elsewhere\n"


@contextmanager
def started(
    cwd: Path, line: str, out: int, err: int, **env: str
) -> Iterator[subprocess.Popen[str]]:
    """Run the command line within the block; it buffers its output unless `env` says otherwise."""
    kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    process = subprocess.Popen(
        [sys.executable, "-m", "scenarios", *line.split()],
        cwd=cwd,
        env={**kept, "OMP_NUM_THREADS": "1", **env},
        stdout=out,
        stderr=err,
        encoding=env.get("PYTHONIOENCODING", "utf-8"),
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def called(
    cwd: Path, line: str, out: int = PIPE, err: int = PIPE, **env: str
) -> tuple[int, str | None, str | None]:
    """Return the exit code, and what was printed where that is a pipe of our own."""
    with started(cwd, line, out, err, **env) as process:
        said = process.communicate(timeout=120)
        return process.returncode, *said


@contextmanager
def unread() -> Iterator[int]:
    """A pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture(scope="module")
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and its matrix."""
    folder = tmp_path_factory.mktemp("cwd")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "R.csv").write_text("0.9,0.1\n0.5,0.8\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(cwd: Path) -> Path:
    """The same with a finished run, whose output had to be ASCII."""
    code, out, err = called(cwd, "run study.toml --out run --workers 1", **ASCII)
    assert (code, err) == (0, "")
    assert out is not None
    assert out.isascii()
    return cwd


@pytest.mark.parametrize("line", SHORT)
def test_a_short_command_in_ascii_and_for_a_reader_who_has_read_enough(
    cwd: Path, line: str, request: pytest.FixtureRequest
) -> None:
    if line == "status run":
        request.getfixturevalue("finished")
    code, out, err = called(cwd, line, **ASCII)
    assert (code, err) == (0, "")
    assert out
    assert out.isascii()
    with unread() as gone:
        assert called(cwd, line, out=gone) == (141, None, "")


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nobody_hears_of_errors_either(cwd: Path, unbuffered: str) -> None:
    line = "metrics R.csv --json"
    with unread() as gone:
        assert called(cwd, line, gone, gone, PYTHONUNBUFFERED=unbuffered)[0] == 141
        assert called(cwd, f"{line} --nonsense", gone, gone, PYTHONUNBUFFERED=unbuffered)[0] == 2
    with open("/dev/full", "w") as full:
        out = full.fileno()
        assert called(cwd, line, out, PYTHONUNBUFFERED=unbuffered) == (2, None, FULL)
        assert called(cwd, line, out, out, PYTHONUNBUFFERED=unbuffered)[0] == 2


def test_without_standard_output_there_is_nothing_to_write(cwd: Path) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "scenarios", "--help"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_reader_goes_in_the_middle(cwd: Path) -> None:
    """As `head` does, with a pipe in which not all of it has room."""
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    whole = called(cwd, "run --help", COLUMNS="200")[1]
    assert whole is not None
    assert len(whole.encode()) > room + 10
    with started(cwd, "run --help", writer, PIPE, COLUMNS="200") as process:
        os.close(writer)
        assert os.read(reader, 10)
        os.close(reader)
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 141)


@pytest.mark.slow
def test_a_study_whose_reader_goes_says_how_to_go_on(finished: Path, tmp_path: Path) -> None:
    """It goes while a worker is at it; what is finished then is not done again."""
    root = tmp_path / "run"
    line = f"run study.toml --out {root} --executor pool --workers 1"
    with started(finished, line, PIPE, PIPE) as process:
        assert process.stdout is not None
        until(lambda: results(root) and workers_of(process.pid))
        workers = workers_of(process.pid)
        process.stdout.close()
        process.stdout = None
        assert process.communicate(timeout=60)[1] == f"{HOW_TO_GO_ON}\n"
        assert process.returncode == 141
        until(lambda: not any(map(alive, workers)), seconds=5)
    assert not (root / "rows.csv").exists()
    done = results(root)
    assert done
    assert run(root, finished / "study.toml")
    assert results(root).items() >= done.items()
    assert tables(root) == tables(finished / "run")


@pytest.mark.slow
def test_who_is_not_read_from_stops_all_the_same(cwd: Path) -> None:
    """Both outputs are one pipe, which is full: whoever writes a word waits for its reader."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, bytes(4096)):
            pass
    os.set_blocking(writer, True)
    with started(cwd, "--help", writer, writer) as process:
        until(lambda: handles_signals(process.pid))
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 143
    os.close(reader)
    os.close(writer)


@pytest.fixture(scope="module")
def values(finished: Path) -> list[str]:
    """The means with what they vary by that a terminal of all characters is shown."""
    line = "run study.toml --out run --workers 1"
    code, whole, _ = called(finished, line, PYTHONIOENCODING="utf-8")
    assert whole is not None
    found = re.findall(r"-?[\d.]+±[\d.]+", whole)
    assert (code, len(found)) == (0, 6)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "shown"),
    [(ASCII, r"\xb1"), (C, r"\xb1"), ({"PYTHONIOENCODING": "latin-1"}, "±")],
    ids=["ascii", "C", "latin-1"],
)
def test_what_the_encoding_lacks_is_shown_as_its_escape(
    finished: Path, values: list[str], env: dict[str, str], shown: str
) -> None:
    code, out, err = called(finished, "run study.toml --out run --workers 1", **env)
    assert (code, err) == (0, "")
    assert out is not None
    assert not set(out) & set("─│┃…")
    assert [value.replace(shown, "±") for value in re.findall(numbers(shown), out)] == values


def numbers(between: str) -> str:
    return rf"-?[\d.]+{re.escape(between)}[\d.]+"


@pytest.mark.slow
def test_a_cluster_that_nobody_runs_is_refused_before_anything_is_written(cwd: Path) -> None:
    if [path for path in Path("/proc").glob("[0-9]*/comm") if is_raylet(path)]:
        pytest.skip("somebody's Ray cluster runs on this machine, and would be found")
    before = contents(cwd)
    line = "run study.toml --out new --executor ray --ray-address auto"
    code, out, err = called(cwd, line, RAY_TMPDIR=str(cwd))
    assert (code, out) == (2, "")
    assert err is not None
    assert err.startswith("error: cannot connect to Ray at auto (Could not find any running Ray")
    assert err.count("\n") == 1
    assert contents(cwd) == before


def is_raylet(path: Path) -> bool:
    try:
        return path.read_text() == "raylet\n"
    except OSError:
        return False
