"""Several processes on one run directory: the tables of one, and no job done twice."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.execution.helpers import (
    FIRST,
    exit_code,
    fork,
    locked,
    results,
    run,
    tables,
)

FLAGS: dict[str, Any] = {"learners": "finetune,offline"}  # three jobs


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("alone") / "run"
    run(out, **FLAGS)
    return tables(out)


def run_noting(out: Path, notes: Path, **flags: Any) -> bool:
    """Run and note each file that is put into its place, with the process."""
    replace = os.replace

    def noting(source: Path, target: Path) -> None:
        replace(source, target)
        with notes.open("a") as file:
            file.write(f"{os.getpid()} {Path(target).relative_to(out)}\n")

    os.replace = noting  # type: ignore[assignment]
    return run(out, **FLAGS, **flags)


@pytest.mark.parametrize("shards", [[None, None], ["1/2", None], [f"{k}/4" for k in range(1, 5)]])
def test_processes_started_at_once(
    tmp_path: Path, alone: dict[str, bytes], shards: list[str | None]
) -> None:
    """Shards or not, also more than there are jobs; whoever is last writes the tables."""
    out, notes = tmp_path / "run", tmp_path / "notes"
    processes = [fork(lambda shard=shard: run_noting(out, notes, shard=shard)) for shard in shards]  # type: ignore[misc]
    assert [exit_code(process) for process in processes] == [0] * len(shards)
    assert tables(out) == alone
    written = [line.split() for line in notes.read_text().splitlines()]
    times = Counter(path for _, path in written if path.startswith("jobs/"))
    assert set(times.values()) == {1}
    assert times.keys() >= results(out).keys()
    # The jobs take their time and the first to come had only one of them.
    assert len({process for process, path in written if path.startswith("jobs/")}) >= 2
    assert not (out / "quarantine").exists()
    assert not list(out.rglob("*.tmp"))


def test_a_shard_that_ends_before_the_others_says_so(
    tmp_path: Path, alone: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    """It does all that is left, and leaves to another what that one is doing."""
    out = tmp_path / "run"
    with locked(out / "jobs" / FIRST):
        assert run(out, shard="1/2", **FLAGS)
        said = " ".join(capsys.readouterr().out.split())
        assert "being done by other processes: the last to finish writes the tables" in said
        assert not (out / "rows.csv").exists()
        assert list((out / "jobs").glob("offline*/*/step-5.json"))
        assert not list((out / "jobs" / FIRST).glob("*/*"))
    assert run(out, shard="2/7", **FLAGS)
    assert tables(out) == alone


def test_other_settings_in_one_directory_are_kept_apart(
    tmp_path: Path, alone: dict[str, bytes]
) -> None:
    """Two studies of one name at once: each has its own results, and the tables are of one."""
    out, notes = tmp_path / "run", tmp_path / "notes"
    processes = [
        fork(lambda epochs=epochs: run_noting(out, notes, epochs=epochs))  # type: ignore[misc]
        for epochs in (1, 2)
    ]
    assert [exit_code(process) for process in processes] == [0, 0]
    written = [line.split()[1] for line in notes.read_text().splitlines()]
    assert set(Counter(path for path in written if path.startswith("jobs/")).values()) == {1}
    before = results(out)
    assert len({path.rpartition("/")[0] for path in before}) == 6
    run(out, **FLAGS)
    assert tables(out) == alone
    assert results(out) == before
