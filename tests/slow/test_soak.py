"""A few of the kills of `make soak`, and whether its witness sees what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import tables
from tests.slow.helpers import copied
from tests.soak.kills import Campaign
from tests.soak.laws import Broken, Witness

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_killed_at_random_moments(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, seed=0)
    for kind in ("the only process", "one of three shards"):
        campaign.carry_out(kind, wanted=2, until=math.inf)
    assert campaign.broken == []
    assert campaign.kills >= 3


def part(root: Path, name: str = "step-5.json") -> Path:
    [path] = root.glob(f"jobs/offline.seed-0/*/{name}")
    return path


def write_again(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("crime", "said"),
    [
        (lambda root: write_again(part(root)), r"step-5\.json was finished and has been written"),
        (lambda root: part(root, "step-5.pt").write_bytes(b"PK"), "is not whole"),
        (lambda root: part(root).unlink(), "written again"),
        (lambda root: (root / "rows.csv").write_text("1"), r"rows\.csv is not the expected one"),
        (lambda root: (root / "costs.csv").unlink(), r"costs\.csv is not the expected one"),
        (lambda root: (root / "rows.csv.tmp").touch(), r"there are left: .*rows\.csv\.tmp"),
        (lambda root: (root / "scratch").mkdir(), "there are left: scratch"),
        (lambda root: (root / "quarantine").mkdir(), "something was set aside"),
    ],
)
def test_the_witness_sees_what_is_wrong(
    tmp_path: Path, finished: Path, crime: Callable[[Path], object], said: str
) -> None:
    root = copied(finished, tmp_path / "run")
    witness = Witness(root, tables(finished))
    witness.end()
    crime(root)
    with pytest.raises(Broken, match=said):
        witness.end()
