"""A cache budget changes where values live, and nothing else: the tables stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe.errors import InputError
from probe.tables.run_directory import TABLES
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides, check_study, read_study

STUDY = Overrides(learners=["finetune"], seeds=1, orders="none", epochs=1, train_limit=5)


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave them out: they take longer than the study, and come from the tables alone."""
    monkeypatch.setattr("scenarios.commands.run.build", lambda root: [])


def tables(out: Path, budget: int | None) -> list[bytes]:
    run_study("digits", STUDY, Options(out=out, choice=Choice(workers=1), cache_budget=budget))
    return [(out / name).read_bytes() for name in TABLES]


def test_the_tables_do_not_depend_on_where_values_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first layer of cnn3 gives 512 floats for each of 50 + 360 examples of 8 x 8."""
    expected = None
    for budget, disk, where in (
        (None, 10**9, "in memory"),
        (1000, 10**9, "memory-mapped"),
        (1000, 0, "recomputed"),
    ):
        monkeypatch.setattr("probe.values.allocation._free_disk", lambda folder, disk=disk: disk)
        got = tables(tmp_path / where, budget)
        assert f"conv1: 839.7 KB, {where}" in capsys.readouterr().out
        assert not (tmp_path / where / "scratch").exists()
        assert got == (expected or got)
        expected = got


def test_a_budget_is_not_part_of_a_study_s_identity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = tables(tmp_path, None)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").rglob("*")}
    capsys.readouterr()
    assert tables(tmp_path, 0) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").rglob("*")} == before
    assert "memory-mapped" not in capsys.readouterr().out  # nothing is left to retrain: no plan


def test_how_values_are_stored_is_part_of_a_study() -> None:
    raw = {**read_study("digits"), "storage": "bf16"}
    assert check_study(raw, "own").storage == "bf16"
    assert check_study(read_study("digits"), "own").storage == "fp32"
    with pytest.raises(InputError, match=r"own: storage: .*'fp32' or 'bf16', got 'fp16'"):
        check_study({**raw, "storage": "fp16"}, "own")


def test_workers_share_the_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Overrides(learners=["finetune"], orders="shuffle:2", seeds=1, epochs=1, train_limit=2)
    options = Options(out=tmp_path, choice=Choice(workers=2), cache_budget=500_000)
    run_study("digits", study, options)
    assert "at most 250.0 KB in memory per worker" in capsys.readouterr().out
