"""A probed study killed at random moments: the same tables, and no checkpoint but the last."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.scenarios.probed import checkpoints, parts, tables
from tests.scenarios.tiny_run import Tiny, probed
from tests.slow.helpers import killed_after

pytestmark = pytest.mark.slow

STUDY = probed('budget = [1, 2]\nreadouts = { retrain = "all", linear = "all", ncm = "ends" }')
KILLS = 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The study, undisturbed."""
    tiny = Tiny(tmp_path_factory.mktemp("undisturbed") / "tiny")
    tiny.run(STUDY)
    return tiny


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 6))]
)
def test_killed_at_random_moments_the_tables_are_the_same(
    whole: Tiny, tmp_path: Path, seed: int
) -> None:
    draw, tiny = random.Random(seed), Tiny(tmp_path / "killed")
    kills = [
        killed_after(draw.randint(0, 200), tiny.root, lambda: tiny.run(STUDY)) for _ in range(KILLS)
    ]
    assert any(kills)
    tiny.run(STUDY)
    assert tables(tiny) == tables(whole)
    assert {job: set(own) for job, own in parts(tiny).items()} == {
        job: set(own) for job, own in parts(whole).items()
    }
    assert checkpoints(tiny) == checkpoints(whole)
    assert not (tiny.root / "quarantine").exists()
