"""`probe model` killed at random moments: the same tables, and nothing finished is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.scenarios.own_run import Own, metrics, results, tables
from tests.slow.helpers import killed_after

pytestmark = pytest.mark.slow

KILLS = 20


def finished(root: Path) -> dict[str, tuple[int, int]]:
    """Return every finished part, with what changes when it is written again."""
    if not (root / "jobs").is_dir():
        return {}
    each = {name: state for name, state in results(root).items() if name.endswith(".json")}
    return {name: (inode, changed) for name, (inode, changed, _) in each.items()}


def test_killed_at_random_moments_it_ends_in_the_same_tables(tmp_path: Path) -> None:
    own = Own(tmp_path / "studied").written()
    own.keep(own.run())
    whole, killed = own.model("whole"), own.folder / "killed"
    draw, kills, before = random.Random(0), 0, dict[str, tuple[int, int]]()
    while kills < KILLS:
        kills += killed_after(draw.randint(0, 150), killed, lambda: own.model("killed") is not None)
        now = finished(killed)
        assert {name: now.get(name) for name in before} == before
        if len(now) == len(finished(whole)):
            # Begin again, as finished parts cannot be interrupted.
            killed.rename(killed.with_name(f"killed-{len(list(own.folder.glob('killed-*')))}"))
            now = {}
        before = now
    own.model("killed")
    for root in own.folder.glob("killed*"):
        own.model(root.name)
        assert tables(root) == tables(whole)
        assert metrics(root) == metrics(whole)
        assert {name.split("/")[0] for name in finished(root)} == {
            name.split("/")[0] for name in finished(whole)
        }
        assert finished(root).keys() == finished(whole).keys()
        assert not list(root.rglob("*.tmp"))
        assert not (root / "quarantine").exists()
        assert not (root / "scratch").exists()
