"""A cache budget changes where values are kept, and nothing else: the tables stay the same."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from tests.scenarios.tiny_run import TINY, Tiny


def test_the_tables_do_not_depend_on_where_values_live(
    fresh: Tiny, finished_study: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first layer gives 256 floats for each of 40 + 50 examples."""
    for disk, where in ((10**9, "memory-mapped"), (0, "recomputed")):
        free = SimpleNamespace(free=disk)
        monkeypatch.setattr("shutil.disk_usage", lambda folder, free=free: free)
        own = Tiny(fresh.folder.with_name(where))
        assert f"hidden1: 92.2 KB, {where}" in own.run(cache_budget="1000")
        assert not (own.root / "scratch").exists()
        assert own.tables() == finished_study.tables()


def test_workers_share_the_budget(fresh: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    class Planned(Exception):
        pass

    def stop(*_: object, **__: object) -> None:
        raise Planned(said.getvalue())

    said = io.StringIO()
    monkeypatch.setattr("scenarios.commands.run.execute", stop)
    monkeypatch.setattr("scenarios.commands.run.Console", lambda: Console(file=said))
    with pytest.raises(Planned, match=r"at most 250.0 KB in memory per worker"):
        fresh.run(TINY, executor="pool", workers=2, cache_budget="500000")
