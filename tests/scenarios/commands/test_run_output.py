"""Output of `probe run`: the plan of cached activations before a study, Kemker's table after it."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import Tensor, nn

from probe.byte_sizes import show_size
from tests.bad_input.making import study
from tests.scenarios.execution.helpers import TINY as SHORT, run
from tests.scenarios.tiny_run import TINY, Tiny
from tests.slow.helpers import killed_at


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("kind", "trains"), [("class-incremental", True), ("incremental", False)])
def test_kemkers_omegas_and_a_plan_without_the_examples_of_what_cannot_be_trained(
    kind: str, trains: bool, cwd: Path, probe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 numbers of 4 bytes at hidden1, for each of 50 training and 360 test digits."""

    def tailed(name: str, x: Tensor, classes: int) -> nn.Module:
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        last = nn.Linear(10, classes) if trains else nn.Identity()
        return nn.Sequential(OrderedDict(hidden1=first, hidden2=nn.ReLU(), output=last))

    monkeypatch.setattr("scenarios.study.training.network_for", tailed)
    changes = {"scenario.kind": f'"{kind}"', "network.features": '["hidden1"]'}
    (cwd / "tiny.toml").write_text(study(changes))
    code, out, _ = probe("run tiny.toml --workers 1 --learners finetune")
    assert code == 0
    assert f"hidden1: {show_size((50 * trains + 360) * 10 * 4)}, in memory" in out
    assert ("Omegas" in out) == (kind == "incremental")


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


# `--dry-run`: the jobs that are left, and not a byte is written.


def table(out: str) -> dict[str, list[str]]:
    """Return the table by learner: jobs, finished, left, parts left, training steps left."""
    return {name: cells for name, *cells in map(str.split, filter(str.strip, out.splitlines()))}


def test_nothing_is_written(probe: Any, cwd: Path) -> None:
    """A job of five tasks of 16 examples; two layers retrained on all 80, in batches of 64."""
    code, out, err = probe(f"run {SHORT} --dry-run --workers 1 --learners finetune,er,fel")
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    assert table(out)["finetune"] == table(out)["er"] == ["2", "0", "2", "16", "18"]
    assert table(out)["fel"][:3] + table(out)["fel"][4:] == ["2", "0", "2", "unknown"]
    assert "hidden1: " in out
    assert out.splitlines()[-1] == "a dry run: nothing was written"


def test_finished_jobs_are_counted(probe: Any, cwd: Path) -> None:
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    code, out, err = probe(f"run {SHORT} --dry-run --workers 2 --learners finetune,er --out run")
    assert (code, err) == (0, "")
    assert table(out)["finetune"] == ["2", "2", "0", "0", "0"]
    assert table(out)["er"][:3] == ["2", "0", "2"]
    assert {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")} == before
