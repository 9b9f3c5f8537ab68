"""No path inside a run directory leads outside it: links, pipes and second names of files."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from rich.console import Console
from scenarios.study.identity import read_identity
from scenarios.study.quarantine import notes, set_aside

from probe.errors import InputError, NotWritten
from probe.files import create, make_within, replacing, suffix
from scenarios.commands.progress import show_ends
from scenarios.commands.status import show_status
from scenarios.execution.work import Ended
from scenarios.study.job import jobs_of
from tests.faults.small import JOB, contents, copied, run, tables
from tests.scenarios.study import toy_store

FOLDERS = ["jobs", f"jobs/{JOB}", "quarantine", "figures", "locks", "scratch", "failures"]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "thesis.json").write_text("mine")
    (folder / "a.csv.00000000-1.tmp").write_text("mine")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("full", [False, True])
def test_a_folder_that_is_a_link_is_refused(
    tmp_path: Path, finished: Path, outside: Path, name: str, full: bool
) -> None:
    out = copied(finished, tmp_path / "run")
    toy_store.truncated(out / "jobs" / JOB / "step-2.json")
    if (out / name).exists():
        if full:
            shutil.copytree(out / name, outside, dirs_exist_ok=True)
        shutil.rmtree(out / name)
    (out / name).symlink_to(outside)
    before, inside = contents(outside), contents(out)
    for use in (run, show_status):
        with pytest.raises(InputError, match=f"{out}/{name} is a link, .*put a folder"):
            use(out)
    assert contents(outside) == before
    assert contents(out) == inside


def test_a_folder_that_becomes_a_link_while_it_is_used(tmp_path: Path, outside: Path) -> None:
    store = toy_store.filled(tmp_path / "run")
    shutil.rmtree(store.root / "jobs" / JOB)
    (store.root / "jobs" / JOB).symlink_to(outside)
    before = contents(outside)
    with pytest.raises(NotWritten, match=f"{JOB} is a link"):
        store.write(JOB, "step-1", toy_store.MEASURED)
    (store.root / "quarantine").symlink_to(outside)
    spoiled = toy_store.path_of(store, "step-1.json", toy_store.OTHER_JOB)
    spoiled.write_bytes(b"spoiled")
    with pytest.raises(NotWritten, match="quarantine is a link"):
        store.read(toy_store.OTHER_JOB, "step-1")
    assert spoiled.read_bytes() == b"spoiled"
    assert contents(outside) == before


@pytest.mark.parametrize("name", ["rows.csv", "summary.csv", "times.csv", "study.json"])
@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_file_that_has_a_name_elsewhere_is_not_written_through(
    tmp_path: Path, finished: Path, outside: Path, name: str, kind: str
) -> None:
    """As in a backup made with hard links; what a symbolic link points to is not read either."""
    out = copied(finished, tmp_path / "run")
    target = outside / "target"
    target.write_bytes(b"other content")
    (out / name).unlink()
    if kind == "symbolic":
        (out / name).symlink_to(target)
    else:
        os.link(target, out / name)
    assert run(out)
    assert target.read_bytes() == b"other content"
    assert tables(out) == tables(finished)
    assert not (out / name).is_symlink()
    assert (out / name).stat().st_nlink == 1


def test_a_whole_backup_by_hard_links_stays_as_it_is(tmp_path: Path, finished: Path) -> None:
    out = copied(finished, tmp_path / "run")
    backup = tmp_path / "backup"
    for path in (out / "jobs" / JOB).glob("step-[345]*"):
        path.unlink()
    toy_store.truncated(out / "jobs" / JOB / "step-1.json")
    shutil.copytree(out, backup, copy_function=os.link)
    before = contents(backup)
    assert run(out)
    assert tables(out) == tables(finished)
    assert contents(backup) == before


def test_a_link_at_the_name_of_an_unfinished_file(tmp_path: Path, outside: Path) -> None:
    """It has the very name that this process is going to use."""
    root, target = tmp_path / "run", outside / "thesis.json"
    root.mkdir()
    before = contents(outside)
    for path in (root / "a.json", root / "b.json"):
        path.with_name(path.name + suffix()).symlink_to(target)
    with replacing(root / "a.json") as partial:
        partial.write_bytes(b"new")
    assert create(root / "b.json", b"new")
    assert not create(root / "b.json", b"newer")
    assert contents(outside) == before
    assert contents(root) == {"a.json": b"new", "b.json": b"new"}
    assert not any(path.is_symlink() for path in root.iterdir())


def test_links_that_look_like_unfinished_files_are_removed_themselves(
    tmp_path: Path, finished: Path, outside: Path
) -> None:
    out, target = copied(finished, tmp_path / "run"), outside / "thesis.json"
    (out / "jobs" / JOB / "step-2.json").unlink()
    dead = f"{suffix().rpartition('-')[0]}-4000001.tmp"
    for name in (f"rows.csv{dead}", f"jobs/{JOB}/step-1.json{dead}"):
        (out / name).symlink_to(target)
    assert run(out)
    assert target.read_text() == "mine"
    assert contents(out).keys() == contents(finished).keys()


def test_notes_are_not_written_or_read_through_links(tmp_path: Path, outside: Path) -> None:
    root, target = tmp_path / "run", outside / "thesis.json"
    (root / "quarantine").mkdir(parents=True)
    (root / "quarantine" / "rows.csv.txt").symlink_to(target)
    os.mkfifo(root / "quarantine" / "pipe.txt")
    (root / "rows.csv").write_bytes(b"spoiled")
    set_aside(root, root / "rows.csv", "it is spoiled")
    assert target.read_text() == "mine"
    assert (root / "quarantine" / "rows.csv.2").read_bytes() == b"spoiled"
    assert notes(root) == [
        "rows.csv: it is spoiled; set aside as quarantine/rows.csv.2, computed anew"
    ]


def test_why_a_job_failed_is_not_written_through_a_link(
    tmp_path: Path, finished: Path, outside: Path
) -> None:
    job = jobs_of(read_identity(finished).study, 5)[0]
    (tmp_path / "failures").mkdir()
    (tmp_path / "failures" / f"{job.name}.txt").symlink_to(outside / "thesis.json")
    ended = Ended(job=job, how="failed", reason="it was ill", trace="Traceback ...")
    assert not show_ends(Console(), tmp_path, [ended])
    assert (outside / "thesis.json").read_text() == "mine"
    assert (tmp_path / "failures" / f"{job.name}.txt").read_text() == "Traceback ..."


def test_folders_are_made_within_a_root_that_is_there(tmp_path: Path) -> None:
    make_within(tmp_path, tmp_path / "a" / "b")
    make_within(tmp_path, tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(NotWritten, match="was its folder moved or removed"):
        make_within(tmp_path / "gone", tmp_path / "gone" / "a")
    assert not (tmp_path / "gone").exists()


class Touches:
    """A pickle that creates a file where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_hostile_files_in_a_run_directory(tmp_path: Path, finished: Path) -> None:
    """Pickles in the place of every file of a job that is not finished, and of its tables."""
    out, touched = copied(finished, tmp_path / "run"), tmp_path / "touched"
    (out / "jobs" / JOB / "feature-conv1.json").unlink()
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
