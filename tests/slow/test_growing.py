"""A study that grows, killed again and again: the tables of a fresh one, and only new jobs run."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.execution.helpers import alive, exit_code, fork, results, run, tables, until

pytestmark = pytest.mark.slow

# What is asked for, one after the other, and how many jobs are new then.
STAGES: list[tuple[dict[str, Any], int]] = [
    ({"seeds": 2, "learners": "finetune,er"}, 8),
    ({"seeds": 3, "learners": "finetune,er"}, 4),
    ({"seeds": 3, "learners": "finetune,er,si"}, 6),
    ({"seeds": 2, "learners": "er,offline"}, 2),
    ({"seeds": 3, "learners": "finetune,er,si"}, 0),
]


def jobs(found: Iterable[str]) -> set[str]:
    return {Path(path).parts[1] for path in found}


def killed(out: Path, flags: dict[str, Any], chance: random.Random) -> bool:
    """Start the study and kill it -9 after some files; return whether it had not ended before."""
    enough = len(results(out)) + chance.randint(0, 12)
    process = fork(lambda: run(out, **flags))
    until(lambda: len(results(out)) >= enough or not alive(process))
    time.sleep(chance.uniform(0, 0.1))
    os.kill(process, signal.SIGKILL)
    return exit_code(process) == -signal.SIGKILL


@pytest.mark.parametrize("each", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_a_study_that_grows(tmp_path: Path, each: int) -> None:
    """each: kills of each stage that has something new to do."""
    out, chance, kills = tmp_path / "run", random.Random(13), 0
    for number, (flags, new) in enumerate(STAGES):
        fresh, before = tmp_path / str(number), results(out)
        assert run(fresh, **flags)
        for _ in range(each if new else 0):
            seen = results(out)
            kills += killed(out, flags, chance)
            assert results(out).items() >= seen.items()
        seen = results(out)
        assert run(out, **flags)
        assert results(out).items() >= seen.items() >= before.items()
        assert tables(out) == tables(fresh)
        added = jobs(results(out)) - jobs(before)
        assert len(added) == new
        assert jobs(results(out).keys() - before.keys()) == added
        assert not list(out.rglob("*.tmp"))
        assert not (out / "quarantine").exists()
    assert kills > 2 * each
