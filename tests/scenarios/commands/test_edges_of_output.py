"""What is printed has no reader, no room or an encoding without ±: seen from real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.bad_input.making import study
from tests.bad_input.refused import contents

STUDY = study({"seeds": "2", "network.features": '["hidden1"]', "learners.offline": None})
HIDDEN = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "FORCE_COLOR", "RAY_ADDRESS")
ASCII = {"PYTHONIOENCODING": "ascii"}


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


@pytest.mark.parametrize("line", ["--help", "metrics R.csv"])
def test_a_short_command_in_ascii_and_for_a_reader_who_has_read_enough(
    cwd: Path, gone: int, line: str
) -> None:
    code, out, err = called(cwd, line, **ASCII)
    assert (code, bool(out), out.isascii(), err) == (0, True, True, "")
    assert called(cwd, line, out=gone) == (141, "", "")


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
