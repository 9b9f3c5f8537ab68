"""A study that grows, killed again and again: the tables of a fresh one, and only new jobs run."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.execution.helpers import results, run, tables
from tests.slow.helpers import killed_after

pytestmark = pytest.mark.slow

# The studies, one after the other, and the number of jobs that are new in each.
STAGES: list[tuple[dict[str, Any], int]] = [
    ({"seeds": 2, "learners": "finetune,er"}, 8),
    ({"seeds": 3, "learners": "finetune,er"}, 4),
    ({"seeds": 3, "learners": "finetune,er,si"}, 6),
    ({"seeds": 2, "learners": "er,offline"}, 2),
    ({"seeds": 3, "learners": "finetune,er,si"}, 0),
]


def jobs(found: Iterable[str]) -> set[str]:
    return {Path(path).parts[1] for path in found}


@pytest.mark.parametrize("each", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_a_study_that_grows(tmp_path: Path, each: int) -> None:
    """each: kills of each stage that has something new to do."""
    out, chance, kills = tmp_path / "run", random.Random(13), 0
    for number, (flags, new) in enumerate(STAGES):
        fresh, before = tmp_path / str(number), results(out)
        assert run(fresh, **flags)
        for _ in range(each if new else 0):
            seen = results(out)
            kills += killed_after(chance.randint(0, 60), out, lambda flags=flags: run(out, **flags))  # type: ignore[misc]
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
