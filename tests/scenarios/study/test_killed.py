"""Killed at any moment and started again, a study gives the same tables, bit for bit."""

from __future__ import annotations

from tests.scenarios.tiny_run import TINY, Tiny
from tests.slow.helpers import killed_at

FEATURES = TINY.replace('"hidden1"', '"hidden1", "hidden2"')


def test_killed_with_values_on_the_disk(fresh: Tiny) -> None:
    """Killed while the values of two features are memory-mapped, and those of one."""
    fresh.run(FEATURES)
    kept = Tiny(fresh.folder.with_name("kept"))
    for feature in ("hidden1", "hidden2"):
        killed_at(f"retrain of {feature} after 2", lambda: kept.run(FEATURES, cache_budget="0"))
        assert list((kept.root / "scratch").iterdir()) == []
    kept.run(FEATURES, cache_budget="0")
    assert kept.tables() == fresh.tables()
    assert not (kept.root / "scratch").exists()
