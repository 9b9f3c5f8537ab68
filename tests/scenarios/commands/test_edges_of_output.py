"""What is printed has no reader, no room or an encoding without ±: seen from real processes."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from scenarios.commands.screen.stopping import HOW_TO_GO_ON
from tests.bad_input.making import study
from tests.bad_input.refused import contents
from tests.scenarios.execution.helpers import (
    alive,
    handles_signals,
    run,
    tables,
    until,
    workers_of,
)
from tests.scenarios.tiny_run import measured

STUDY = study({"seeds": "2", "network.features": '["hidden1"]', "learners.offline": None})
HIDDEN = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "FORCE_COLOR", "RAY_ADDRESS")
ASCII = {"PYTHONIOENCODING": "ascii"}
AGAIN = "run study.toml --out run --workers 1"
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
) -> tuple[int, str, str]:
    """Return the exit code, and both outputs where they are pipes of our own."""
    with started(cwd, line, out, err, **env) as process:
        said, told = process.communicate()
        return process.returncode, said or "", told or ""


@pytest.fixture
def gone() -> Iterator[int]:
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
    """The same with a finished run and its output, which had to be ASCII."""
    code, out, err = called(cwd, AGAIN, **C)
    assert (code, out.isascii(), err) == (0, True, "")
    (cwd / "shown").write_text(out, encoding="utf-8")
    return cwd


@pytest.mark.parametrize("line", ["--help", "metrics R.csv"])
def test_a_short_command_in_ascii_and_for_a_reader_who_has_read_enough(
    cwd: Path, gone: int, line: str
) -> None:
    code, out, err = called(cwd, line, **ASCII)
    assert (code, bool(out), out.isascii(), err) == (0, True, True, "")
    assert called(cwd, line, out=gone) == (141, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nobody_hears_of_errors_either(cwd: Path, gone: int, unbuffered: str) -> None:
    line = "metrics R.csv --json"
    assert called(cwd, line, gone, gone, PYTHONUNBUFFERED=unbuffered)[0] == 141
    assert called(cwd, f"{line} --nonsense", gone, gone, PYTHONUNBUFFERED=unbuffered)[0] == 2
    with open("/dev/full", "w") as full:
        out = full.fileno()
        assert called(cwd, line, out, PYTHONUNBUFFERED=unbuffered) == (2, "", FULL)
        assert called(cwd, line, out, out, PYTHONUNBUFFERED=unbuffered)[0] == 2


def test_without_standard_output_there_is_nothing_to_write(cwd: Path) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "scenarios", "--help"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_reader_goes_in_the_middle(cwd: Path) -> None:
    """As `head` does, with a pipe in which not all of it has room."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with started(cwd, "run --help", writer, PIPE, COLUMNS="200") as process:
        os.close(writer)
        assert os.read(reader, 10)
        os.close(reader)
        assert (process.communicate()[1], process.returncode) == ("", 141)


@pytest.mark.slow
@pytest.mark.soak
def test_a_study_whose_reader_goes_says_how_to_go_on(finished: Path, tmp_path: Path) -> None:
    """It goes while a worker is at it; what is finished then is not done again."""
    root = tmp_path / "run"
    line = f"run study.toml --out {root} --executor pool --workers 1"
    with started(finished, line, PIPE, PIPE) as process:
        assert process.stdout is not None
        until(lambda: measured(root) and workers_of(process.pid))
        workers = workers_of(process.pid)
        process.stdout.close()
        process.stdout = None
        assert process.communicate()[1] == f"{HOW_TO_GO_ON}\n"
        assert process.returncode == 141
        until(lambda: not any(map(alive, workers)))
    assert not (root / "measurements.csv").exists()
    done = measured(root)
    assert done
    assert run(root, finished / "study.toml")
    assert measured(root).items() >= done.items()
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
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
    os.close(reader)
    os.close(writer)


@pytest.mark.slow
def test_what_the_encoding_lacks_is_shown_as_its_escape(finished: Path) -> None:
    def values(out: str, between: str = "±") -> list[str]:
        found = re.findall(rf"-?[\d.]+{re.escape(between)}[\d.]+", out)
        return [value.replace(between, "±") for value in found]

    code, out, err = called(finished, AGAIN)
    assert (code, len(expected := values(out)), err) == (0, 6, "")
    code, latin, err = called(finished, AGAIN, PYTHONIOENCODING="latin-1")
    assert (code, err) == (0, "")
    shown = (finished / "shown").read_text("utf-8")
    assert values(shown, r"\xb1") == values(latin) == expected
    assert not set(shown + latin) & set("─│┃…")


@pytest.mark.slow
def test_a_cluster_that_nobody_runs_is_refused_before_anything_is_written(cwd: Path) -> None:
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if path.read_text() == "raylet\n":
                pytest.skip("somebody's Ray cluster runs on this machine, and would be found")
    before = contents(cwd)
    line = "run study.toml --out new --executor ray --ray-address auto"
    code, out, err = called(cwd, line, RAY_TMPDIR=str(cwd))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: cannot connect to Ray at auto (Could not find any running Ray")
    assert contents(cwd) == before
