"""A few of the kills of `make soak`, and whether its witness sees what is wrong."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.campaign import Campaign
from tests.soak.driver import warm
from tests.soak.kinds import INLINE
from tests.soak.laws import Broken

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("soak"), seed=0, ways=[(warm, INLINE)])


@pytest.mark.parametrize(
    "kind", ["the only process", "one of two on one directory", "one of three shards"]
)
def test_killed_at_random_moments(campaign: Campaign, kind: str) -> None:
    outcome = campaign.carry_out(kind, wanted=2, until=time.monotonic() + 90)
    assert outcome.broken == []
    assert outcome.kills >= 2


def part(root: Path) -> Path:
    [path] = root.glob("jobs/offline.seed-0/*/step-5.json")
    return path


def rewrite(root: Path) -> None:
    path, content = part(root), part(root).read_bytes()
    path.unlink()
    path.write_bytes(content)


def cut(root: Path) -> None:
    path = part(root).with_suffix(".pt")
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("crime", "said"),
    [
        (rewrite, r"step-5\.json was finished and has been written again"),
        (cut, "is not whole"),
        (lambda root: part(root).unlink(), "written again"),
        (lambda root: (root / "rows.csv").write_text("1"), r"rows\.csv is not the expected one"),
        (lambda root: (root / "costs.csv").unlink(), r"costs\.csv|rows\.csv"),
        (lambda root: (root / "rows.csv.tmp").touch(), r"there are left: .*rows\.csv\.tmp"),
        (lambda root: (root / "scratch").mkdir(), "there are left: scratch"),
        (lambda root: (root / "quarantine").mkdir(), "something was set aside"),
    ],
)
def test_the_witness_sees_what_is_wrong(
    tmp_path: Path, campaign: Campaign, crime: Callable[[Path], object], said: str
) -> None:
    root = tmp_path / "run"
    shutil.copytree(campaign.place("whole-warm-inline-0").root, root)
    witness = campaign.witness(root)
    witness.end()
    crime(root)
    with pytest.raises(Broken, match=said):
        witness.end()
