"""A cache budget changes the place of values, and nothing else: the tables stay the same."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.scenarios.tiny_run import TINY, Tiny


def test_the_tables_do_not_depend_on_where_values_live(
    fresh: Tiny, finished_study: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first layer gives 256 floats for each of 40 + 50 examples."""
    for budget, disk, where in (
        (None, 10**9, "in memory"),
        ("1000", 10**9, "memory-mapped"),
        ("1000", 0, "recomputed"),
    ):
        monkeypatch.setattr("probe.values.allocation._free_disk", lambda folder, disk=disk: disk)
        own = Tiny(fresh.folder.with_name(where))
        assert f"hidden1: 92.2 KB, {where}" in own.run(cache_budget=budget)
        assert not (own.root / "scratch").exists()
        assert own.tables() == finished_study.tables()


def test_a_budget_is_not_part_of_a_fingerprint_and_how_values_are_stored_is(tiny: Tiny) -> None:
    before = tiny.results()
    # Nothing is left to retrain: no plan.
    assert "memory-mapped" not in tiny.run(cache_budget="0")
    assert tiny.results() == before
    assert 'storage is "fp32" there and "bf16" here' in tiny.run('storage = "bf16"\n' + TINY)


class Planned(Exception):
    """The plan was shown."""


def test_workers_share_the_budget(fresh: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Planned(said.getvalue())

    said = io.StringIO()
    monkeypatch.setattr("scenarios.commands.run.execute", stop)
    monkeypatch.setattr("scenarios.commands.run.Console", lambda: Console(file=said))
    with pytest.raises(Planned, match=r"at most 250.0 KB in memory per worker"):
        fresh.run(TINY, executor="pool", workers=2, cache_budget="500000")
