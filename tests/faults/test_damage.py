"""Damaged files in a run directory: set aside, computed anew, and the same tables in the end."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scenarios.study.identity import read_identity
from scenarios.study.quarantine import notes
from scenarios.study.sealing import sealed

from probe.errors import InputError
from probe.metrics.counts import Counts
from scenarios.commands.status import show_status
from scenarios.study import tables as writing
from scenarios.study.job import jobs_of
from scenarios.study.store import FORMAT, Store
from tests.faults.small import JOB, contents, copied, run, tables
from tests.scenarios.study import toy_store
from tests.scenarios.study.toy_store import SPOILT


def aside(out: Path) -> set[str]:
    """Return the names of what was set aside, without the notes."""
    return {path.name for path in (out / "quarantine").glob("*") if path.suffix != ".txt"}


def modified(out: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in (out / "jobs").rglob("*") if path.is_file()}


def identity_of(out: Path, name: str) -> str:
    """Return the identity of a job of the study there."""
    identity = read_identity(out)
    [job] = [job for job in jobs_of(identity.study, 5) if job.name == name]
    return identity.of(job)


@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize("name", ["step-2.json", "feature-conv2.json"])
def test_a_damaged_result_is_computed_anew(
    tmp_path: Path, finished: Path, name: str, spoil
) -> None:
    out = copied(finished, tmp_path / "place" / "run")
    spoil(out / "jobs" / JOB / name)
    assert run(out)
    assert tables(out) == tables(finished)
    assert aside(out) == {f"{JOB}.{name}"}
    assert len(notes(out)) == 1
    assert contents(out / "jobs").keys() == contents(finished / "jobs").keys()


def test_several_in_one_job(tmp_path: Path, finished: Path) -> None:
    """Two results, the checkpoint between them and the last: the first whole one serves."""
    out = copied(finished, tmp_path / "run")
    names = ["step-3.json", "step-4.json", "step-3.pt", "feature-conv1.json"]
    for name in names:
        toy_store.cut_in_half(out / "jobs" / JOB / name)
    assert run(out)
    assert tables(out) == tables(finished)
    assert aside(out) == {f"{JOB}.{name}" for name in (*names, "step-3.checkpoint.json")}
    assert run(out)
    assert len(aside(out)) == 5


def test_a_checkpoint_in_the_middle_is_not_needed(tmp_path: Path, finished: Path) -> None:
    """Later ones are whole: the job goes on from the last, and nothing is learned again."""
    out = copied(finished, tmp_path / "run")
    toy_store.cut_in_half(out / "jobs" / JOB / "step-2.pt")
    (out / "jobs" / JOB / "feature-conv3.json").unlink()
    before = modified(out)
    assert run(out)
    assert tables(out) == tables(finished)
    assert aside(out) == set()
    changed = {path.name for path, time in modified(out).items() if before.get(path) != time}
    assert changed == {"feature-conv3.json"}


def test_the_last_checkpoints_are_damaged(tmp_path: Path, finished: Path) -> None:
    out = copied(finished, tmp_path / "run")
    for name in ("step-5.pt", "step-4.learner.pt", "step-3.checkpoint.json"):
        toy_store.cut_in_half(out / "jobs" / JOB / name)
    (out / "jobs" / JOB / "step-5.json").unlink()
    assert run(out)
    assert tables(out) == tables(finished)
    assert {"er.order-0.seed-0.step-5.pt", "er.order-0.seed-0.step-4.learner.pt"} < aside(out)


@pytest.mark.parametrize("other", ["another job", "another study", "another format"])
def test_whole_files_that_belong_elsewhere(
    tmp_path: Path, finished: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copied(finished, tmp_path / "run")
    folder = out / "jobs" / JOB
    if other == "another job":
        shutil.copy(out / "jobs" / "offline.seed-0" / "step-5.json", folder / "step-5.json")
    else:
        own = identity_of(finished, JOB)
        measured = Store(finished, own).read(JOB, "step-4")
        assert measured is not None
        if other == "another format":
            monkeypatch.setattr("scenarios.study.store.FORMAT", FORMAT + 1)
        (folder / "step-5.json").unlink()
        Store(out, own if other == "another format" else "of another").write(
            JOB, "step-5", measured
        )
        monkeypatch.undo()
    assert run(out)
    assert tables(out) == tables(finished)
    assert aside(out) == {f"{JOB}.step-5.json"}


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_damaged_description_is_written_anew(tmp_path: Path, finished: Path, spoil) -> None:
    out = copied(finished, tmp_path / "a" / "place" / "run")
    spoil(out / "study.json")
    with pytest.raises(InputError, match=r"study.json"):
        show_status(out)
    before = modified(out)
    assert run(out)
    assert modified(out) == before
    assert tables(out) == tables(finished)
    assert (out / "study.json").read_bytes() == (finished / "study.json").read_bytes()
    assert aside(out) == {"study.json"}
    show_status(out)


def test_sealed_results_of_other_tasks_are_named(tmp_path: Path, finished: Path) -> None:
    """Damage leaves no such thing: somebody has made it."""
    out = copied(finished, tmp_path / "run")
    store = Store(out, identity_of(finished, JOB))
    true = store.read(JOB, "step-2")
    assert true is not None
    forged = {head: (Counts(np.eye(3, dtype=np.int64)),) for head in true.counts}
    store.write(JOB, "step-2", replace(true, counts=forged))
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
        Store(out, identity_of(finished, JOB)).read(JOB, "step-2")
    assert contents(out) == before


def test_a_lost_description_is_written_anew_where_every_result_is_its_own(
    tmp_path: Path, finished: Path
) -> None:
    out = copied(finished, tmp_path / "run")
    (out / "study.json").unlink()
    with pytest.raises(InputError, match="is not empty and holds no study"):
        replace(read_identity(finished), data="other data").claim(out)
    strange = out / "jobs" / "thesis"
    strange.mkdir()
    with pytest.raises(InputError, match="is not empty and holds no study"):
        run(out)
    strange.rmdir()
    one = out / "jobs" / JOB / "step-4.json"
    own, measured = one.read_bytes(), Store(out, identity_of(finished, JOB)).read(JOB, "step-4")
    assert measured is not None
    Store(out, "of another").write(JOB, "step-4", measured)
    with pytest.raises(InputError, match="is not empty and holds no study"):
        run(out)
    one.write_bytes(own)
    before = modified(out)
    assert run(out)
    assert modified(out) == before
    assert tables(out) == tables(finished)
    assert (out / "study.json").read_bytes() == (finished / "study.json").read_bytes()


def test_a_description_lost_after_it_was_set_aside(tmp_path: Path, finished: Path) -> None:
    """Killed between setting it aside and writing it anew, before there were any results."""
    out = tmp_path / "run"
    (out / "jobs").mkdir(parents=True)
    with pytest.raises(InputError, match="is not empty and holds no study"):
        run(out)
    (out / "quarantine").mkdir()
    (out / "quarantine" / "study.json").write_bytes(b"spoiled")
    assert run(out)
    assert tables(out) == tables(finished)


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", ""])
@pytest.mark.parametrize("of", ["learners", "orders", "name"])
def test_a_description_with_names_that_lead_elsewhere(
    tmp_path: Path, finished: Path, name: str, of: str
) -> None:
    """Its seal is right; neither command goes where it points, nor takes it for its own."""
    out = copied(finished, tmp_path / "run")
    record = json.loads((out / "study.json").read_bytes())
    del record["sha256"]
    if of == "name":
        record["name"] = name
    elif of == "orders":
        record["study"]["orders"] = {name: [1, 2, 3, 4, 5]}
    else:
        record["study"]["learners"] = {name: record["study"]["learners"]["er"]}
    (out / "study.json").write_bytes(sealed(json.dumps(record).encode()))
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"study.json is damaged"):
        show_status(out)
    assert contents(tmp_path) == before
    if of != "name":
        with pytest.raises(InputError, match="belongs to another study"):
            run(out)
        assert contents(tmp_path) == before


@pytest.mark.parametrize("times", [1, 9])
def test_damage_after_the_check_is_no_hole_in_the_tables(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """A file goes bad between its last reading and the tables: computed anew, and said if again."""
    out, left = copied(finished, tmp_path / "run"), [times]
    (out / "tables.json").unlink()  # they are made again
    true = writing.write_tables

    def spoil_and_write(identity, root, allowed):
        if left[0]:
            left[0] -= 1
            toy_store.cut_in_half(root / "jobs" / JOB / "step-2.json")
        return true(identity, root, allowed)

    monkeypatch.setattr("scenarios.commands.run.write_tables", spoil_and_write)
    whole = run(out)
    assert whole == (times == 1)
    assert (tables(out) == tables(finished)) == whole
    monkeypatch.undo()
    assert run(out)
    assert tables(out) == tables(finished)


def test_two_readers_set_one_file_aside(tmp_path: Path, finished: Path) -> None:
    """The second finds that it is gone; and what has the same name already is kept."""
    out = copied(finished, tmp_path / "run")
    (out / "quarantine").mkdir()
    (out / "quarantine" / f"{JOB}.step-2.json").write_bytes(b"earlier")
    toy_store.truncated(out / "jobs" / JOB / "step-2.json")
    true = os.rename

    def first(source, target):
        true(source, target)
        true(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", first)
        assert run(out)
    assert (out / "quarantine" / f"{JOB}.step-2.json").read_bytes() == b"earlier"
    assert aside(out) == {f"{JOB}.step-2.json", f"{JOB}.step-2.json.2"}
    assert tables(out) == tables(finished)
