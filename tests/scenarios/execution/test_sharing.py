"""Several processes on one run directory: the tables of one, and no job done twice."""

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import exit_code, fork, run, tables, until

FLAGS = {"learners": "finetune,offline"}  # three jobs


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    out = tmp_path_factory.mktemp("alone") / "run"
    run(out, **FLAGS)
    return tables(out)


def test_processes_started_at_once(tmp_path, alone):
    """Shards or not, also more than there are jobs: one process alone writes a job's files.

    Each process waits with its first result for that of another: so at least two do
    jobs. The last writes the tables.
    """
    out = tmp_path / "run"
    notes = tmp_path / "notes"
    notes.touch()

    def noted():
        return [
            line.split() for line in notes.read_text().splitlines() if " jobs/" in line
        ]

    def noting(shard):
        replace = os.replace

        def replaced(source, target):
            replace(source, target)
            with notes.open("a") as file:
                file.write(f"{os.getpid()} {Path(target).relative_to(out)}\n")
            if "jobs" in Path(target).parts:
                until(lambda: len({process for process, _ in noted()}) > 1)

        os.replace = replaced  # type: ignore[assignment]
        return run(out, shard=shard, **FLAGS)

    processes = [fork(partial(noting, shard)) for shard in ("1/4", "2/4", "4/4", None)]
    assert [exit_code(process) for process in processes] == [0] * 4
    writers = {(process, Path(path).parent) for process, path in noted()}
    folders = Counter(folder for _, folder in writers)
    assert set(folders.values()) == {1}
    assert {out / folder for folder in folders} == set(out.glob("jobs/*/*/"))
    assert not (out / "quarantine").exists()
    assert not list(out.rglob("*.tmp"))
    assert tables(out) == alone
