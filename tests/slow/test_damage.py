"""Corrupt files in a run directory: set aside, computed again, and the same tables in the end."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.metrics.counts import Counts
from scenarios.commands.run import write_tables
from scenarios.commands.status import show_status
from scenarios.study.run_directory import read_setup, store_of
from scenarios.study.store import Store, quarantine_notes
from tests.scenarios.execution.helpers import jobs_in, results, run, tables, work_of
from tests.slow.helpers import JOB, contents, copied

pytestmark = pytest.mark.slow

Spoil = Callable[[Path], object]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def one_bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_job(path: Path) -> None:
    [other] = path.parents[2].glob(f"er.order-back.seed-0/*/{path.name}")
    shutil.copy(other, path)


def file_of(out: Path, name: str, job: str = JOB) -> Path:
    """Return a file of a job."""
    [folder] = [path for path in (out / "jobs" / job).iterdir() if path.is_dir()]
    return folder / name


def store(out: Path, job: str = JOB) -> Store:
    [found] = [each for each in jobs_in(work_of(out)) if each.name == job]
    return store_of(read_setup(out), out, found)


def aside(out: Path) -> set[str]:
    """Return the names of what was set aside, without the job's, and check that each has a note."""
    paths = [path for path in (out / "quarantine").glob("*") if path.suffix != ".txt"]
    assert len(quarantine_notes(out)) == len(paths)
    return {path.name.removeprefix(f"{file_of(out, '').parent.name}.")[17:] for path in paths}


@pytest.mark.parametrize("spoil", [truncated, halved, one_bit_flipped, emptied, of_another_job])
@pytest.mark.parametrize("name", ["step-2.json", "feature-hidden1.json"])
def test_a_corrupt_result_is_computed_again(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str], name: str, spoil: Spoil
) -> None:
    """And nothing else; status and run say so, and status leaves it where it is."""
    out = copied(finished, tmp_path / "run")
    spoil(file_of(out, name))
    before = results(out)
    show_status(out)
    assert f"{JOB}, {name.removesuffix('.json')}: a corrupt file" in capsys.readouterr().out
    assert results(out) == before
    assert run(out)
    assert f"set aside as quarantine/{JOB}." in capsys.readouterr().out
    assert tables(out) == tables(finished)
    assert aside(out) == {name}
    assert contents(out / "jobs").keys() == contents(finished / "jobs").keys()
    changed = {path for path, file in results(out).items() if before[path] != file}
    assert [Path(path).name for path in changed] == [name]


@pytest.mark.parametrize(
    ("corrupt", "lost", "expected"),
    [
        (
            ["step-3.json", "step-4.json", "step-3.pt", "feature-hidden1.json"],
            [],
            {"step-3.checkpoint.json", "step-3.learner.pt"},
        ),
        (["step-5.pt", "step-4.learner.pt", "step-3.checkpoint.json"], ["step-5.json"], None),
        # Later ones are whole: the job goes on from the last, and nothing is learned again.
        (["step-2.pt"], ["feature-hidden1.json"], set()),
    ],
)
def test_corrupt_checkpoints(
    tmp_path: Path, finished: Path, corrupt: list[str], lost: list[str], expected: set[str] | None
) -> None:
    """The last whole one serves, and one that is not needed is not looked at."""
    out = copied(finished, tmp_path / "run")
    for name in corrupt:
        halved(file_of(out, name))
    for name in lost:
        file_of(out, name).unlink()
    assert run(out)
    assert tables(out) == tables(finished)
    if expected is None:
        assert {"step-5.pt", "step-4.learner.pt", "step-3.checkpoint.json"} <= aside(out)
    else:
        assert aside(out) == (expected and expected | set(corrupt))
    before = contents(out / "jobs")
    assert run(out)
    assert contents(out / "jobs") == before


@pytest.mark.parametrize("spoil", [halved, emptied, one_bit_flipped, Path.unlink])
def test_a_corrupt_description_is_written_anew(
    tmp_path: Path, finished: Path, spoil: Spoil
) -> None:
    out = copied(finished, tmp_path / "run")
    if spoil is one_bit_flipped:
        (out / "study.json").write_text('{"study": "other"}')
    else:
        spoil(out / "study.json")
    with pytest.raises(InputError, match=r"study.json"):
        show_status(out)
    before = results(out)
    assert run(out)
    assert results(out) == before
    assert tables(out) == tables(finished)
    assert (out / "study.json").read_bytes() == (finished / "study.json").read_bytes()
    show_status(out)


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", ""])
@pytest.mark.parametrize("of", ["learners", "orders", "name"])
def test_a_description_with_names_that_lead_elsewhere(
    tmp_path: Path, finished: Path, name: str, of: str
) -> None:
    """Nothing goes where it points."""
    out = copied(finished, tmp_path / "a" / "run")
    record = json.loads((out / "study.json").read_bytes())
    if of == "name":
        record["name"] = name
    elif of == "orders":
        record["study"]["orders"] = {name: [1, 2, 3, 4, 5]}
    else:
        record["study"]["learners"] = {name: record["study"]["learners"]["er"]}
    (out / "study.json").write_text(json.dumps(record))
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"study.json is corrupt"):
        show_status(out)
    assert contents(tmp_path) == before
    assert run(out)
    assert (out / "study.json").read_bytes() == (finished / "study.json").read_bytes()


def test_results_of_other_tasks_are_named(tmp_path: Path, finished: Path) -> None:
    """Their hash is right: somebody has made them."""
    out = copied(finished, tmp_path / "run")
    true = store(out).read("step-2")
    assert true is not None
    forged = {head: (Counts(np.eye(3, dtype=np.int64)),) for head in true.counts}
    store(out).write("step-2", replace(true, counts=forged))
    with pytest.raises(InputError, match=f"{JOB} holds results that cannot be .*: remove it, and"):
        run(out)
    shutil.rmtree(out / "jobs" / JOB)
    assert run(out)
    assert tables(out) == tables(finished)


def test_an_error_of_our_own_is_no_damage(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would set a whole study aside."""
    out = copied(finished, tmp_path / "run")
    before = contents(out)
    monkeypatch.delattr(Counts, "each")
    with pytest.raises(AttributeError):
        store(out).read("step-2")
    assert contents(out) == before


@pytest.mark.parametrize("times", [1, 9])
def test_damage_after_the_check_is_no_hole_in_the_tables(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """A file goes bad between its last reading and the tables: computed again, or said if twice."""
    out, left = copied(finished, tmp_path / "run"), list(range(times))

    def spoil_and_write(*arguments: object) -> bool:
        if left:
            left.pop()
            halved(file_of(out, "step-2.json"))
        return write_tables(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("scenarios.commands.run.write_tables", spoil_and_write)
        assert run(out) == (times == 1)
    assert (tables(out) == tables(finished)) == (times == 1)
    assert run(out)
    assert tables(out) == tables(finished)


def test_two_readers_set_one_file_aside(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second finds that it is gone; and what has the same name already is kept."""
    out = copied(finished, tmp_path / "run")
    victim = file_of(out, "step-2.json")
    name = f"{JOB}.{victim.parent.name}.step-2.json"
    (out / "quarantine").mkdir()
    (out / "quarantine" / name).write_bytes(b"earlier")
    truncated(victim)
    replaced = os.replace

    def first(source: Path, target: Path) -> None:
        replaced(source, target)
        if source == victim:
            replaced(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", first)
        assert run(out)
    assert (out / "quarantine" / name).read_bytes() == b"earlier"
    assert (out / "quarantine" / f"{name}.2").exists()
    assert tables(out) == tables(finished)


def test_a_backup_by_hard_links_stays_as_it_is(tmp_path: Path, finished: Path) -> None:
    out, backup = copied(finished, tmp_path / "run"), tmp_path / "backup"
    for path in file_of(out, "").glob("step-[345]*"):
        path.unlink()
    truncated(file_of(out, "step-1.json"))
    shutil.copytree(out, backup, copy_function=os.link)
    before = contents(backup)
    assert run(out)
    assert tables(out) == tables(finished)
    assert contents(backup) == before


class Touches:
    """A pickle that creates a file where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def test_hostile_files_in_a_run_directory(tmp_path: Path, finished: Path) -> None:
    """Pickles in the place of every file of a job that is not finished, and of its tables."""
    out, touched = copied(finished, tmp_path / "run"), tmp_path / "touched"
    file_of(out, "feature-hidden1.json").unlink()
    hostile = pickle.dumps({"weight": Touches(touched)})
    torch.save({"weight": Touches(touched)}, tmp_path / "hostile.pt")
    for path in (*out.rglob("*.json"), *out.glob("*.csv")):
        path.write_bytes(hostile)
    for path in out.rglob("*.pt"):
        shutil.copy(tmp_path / "hostile.pt", path)
    assert run(out)
    assert not touched.exists()
    assert tables(out) == tables(finished)
    torch.load(tmp_path / "hostile.pt", weights_only=False)
    assert touched.exists()
