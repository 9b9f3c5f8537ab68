"""Files beside a study are no code, whatever they are called and whoever does the jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DECOYS = ("pickle", "random", "numpy", "scenarios", "probe", "sitecustomize")
FLAGS = "--learners finetune,offline --orders none --seeds 1 --epochs 1 --train-limit 4"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with modules that say so when they are executed."""
    for name in DECOYS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a')\n")
    return tmp_path


def ended(folder: Path, *command: str | Path) -> int:
    # `probe` is started as users do: `python -m` would look in the folder by itself.
    return subprocess.run(
        command, cwd=folder, stdout=subprocess.DEVNULL, check=False, env={**os.environ}
    ).returncode


@pytest.mark.parametrize("executor", ["pool", "ray"])
def test_nothing_of_it_is_executed(folder: Path, executor: str) -> None:
    command = Path(sys.executable).with_name("probe")
    flags = [*FLAGS.split(), "--executor", executor, "--workers", "1", "--out", "run"]
    assert ended(folder, command, "run", "digits", *flags) == 0
    assert not (folder / "executed").exists()


def test_the_decoys_work(folder: Path) -> None:
    ended(folder, sys.executable, "-c", "import pickle")
    assert (folder / "executed").exists()
