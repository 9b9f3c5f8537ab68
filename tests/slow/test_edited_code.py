"""A learner's file that is edited while a study runs: its results are of the code that ran."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import TINY

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_results_are_of_the_code_that_was_there_as_the_study_began(tmp_path: Path) -> None:
    for room in ("probe", "scenarios", "figures"):
        shutil.copytree(ROOT / room, tmp_path / room)
    learner, out = tmp_path / "scenarios/learners/replay/er.py", tmp_path / "run"
    original = learner.read_text()

    def probe(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "scenarios", *arguments]
        own = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.Popen(command, cwd=tmp_path, env=own, stdout=subprocess.PIPE, text=True)

    flags = ["--executor", "pool", "--workers", "1", "--learners", "finetune,er"]
    process = probe("run", str(TINY), "--out", str(out), *flags)
    while not list(out.glob("jobs/*/*/step-0.json")):
        assert process.poll() is None
        time.sleep(0.005)
    learner.write_text("raise RuntimeError('edited')\n")
    process.communicate()
    assert process.returncode == 0
    learner.write_text(original)
    shown, _ = probe("status", str(out)).communicate()
    assert "other code" not in shown
    learner.write_text(f"{original}\nCHANGED = True\n")
    shown, _ = probe("status", str(out)).communicate()
    assert "the results of 2 jobs of 4 were made by other code than today's" in shown
