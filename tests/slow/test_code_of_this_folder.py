"""Files beside a study are no code, whatever they are called and whoever does the jobs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import TINY

pytestmark = pytest.mark.slow

DECOYS = ("pickle", "random", "numpy", "scenarios", "probe", "torch", "sitecustomize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with modules that say so when they are executed."""
    for name in DECOYS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a')\n")
    return tmp_path


def ended(folder: Path, *command: str | Path) -> int:
    # `probe` is started as users do: `python -m` would look in the folder by itself.
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode


@pytest.mark.parametrize("executor", ["pool", "ray"])
def test_nothing_of_it_is_executed(folder: Path, executor: str) -> None:
    command = Path(sys.executable).with_name("probe")
    flags = ["--executor", executor, "--workers", "2", "--learners", "finetune", "--out", "run"]
    assert ended(folder, command, "run", TINY, *flags) == 0
    assert not (folder / "executed").exists()


def test_the_decoys_work(folder: Path) -> None:
    ended(folder, sys.executable, "-c", "import pickle")
    assert (folder / "executed").exists()
