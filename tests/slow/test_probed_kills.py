"""A probed study killed at random moments: the same tables, and no checkpoint but the last."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import alive, exit_code, fork
from tests.scenarios.probed import checkpoints, parts, tables
from tests.scenarios.tiny_run import Tiny, probed

pytestmark = pytest.mark.slow

STUDY = probed('budget = [1, 2]\nreadouts = { retrain = "all", linear = "all", ncm = "ends" }')
KILLS = 8


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tiny, float]:
    """The study, and how many seconds it took."""
    tiny = Tiny(tmp_path_factory.mktemp("undisturbed") / "tiny")
    tiny.run(STUDY)
    again, start = Tiny(tiny.folder / "again"), time.monotonic()
    again.run(STUDY)
    return tiny, time.monotonic() - start


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 6))]
)
def test_killed_at_random_moments_the_tables_are_the_same(
    undisturbed: tuple[Tiny, float], tmp_path: Path, seed: int
) -> None:
    whole, seconds = undisturbed
    draw, tiny, kills = random.Random(seed), Tiny(tmp_path / "killed"), 0
    for _ in range(KILLS):
        process = fork(lambda: tiny.run(STUDY) is not None)
        time.sleep(draw.uniform(0, seconds / 2))
        if alive(process):
            os.kill(process, signal.SIGKILL)
        kills += exit_code(process) == -signal.SIGKILL
    assert kills
    tiny.run(STUDY)
    assert tables(tiny) == tables(whole)
    assert {job: set(own) for job, own in parts(tiny).items()} == {
        job: set(own) for job, own in parts(whole).items()
    }
    assert checkpoints(tiny) == checkpoints(whole)
    assert not (tiny.root / "quarantine").exists()
