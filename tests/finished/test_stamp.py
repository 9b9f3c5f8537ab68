"""A finished study of which something was changed: seen, mended, and then recognized again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from scenarios.study.identity import Identity

from probe.tables.run_directory import TABLES, TIMES
from scenarios.commands import run as module
from tests.finished.small import (
    DIGITS,
    FIGURES,
    JOB,
    OTHER_JOB,
    again,
    drawn,
    finished,
    mended,
    probe,
    shown,
    tables,
    touched,
)
from tests.scenarios.study import toy_store

Spoil = Callable[[Path], object]
STEP, FEATURE = (f"jobs/{JOB}/{part}.json" for part in ("step-2", "feature-hidden1"))
SHOWN = [*TABLES, TIMES, *(f"figures/{name}" for name in FIGURES)]


def bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def removed(path: Path) -> None:
    path.unlink()


def of_another_part(path: Path) -> None:
    """Whole and of the same job."""
    shutil.copy(path.with_name("step-1.json"), path)


of_another_job = toy_store.swapped_with("step-5.json", OTHER_JOB)
ANY = [*toy_store.SPOILT, bit_flipped, removed]
# In the place of a folder no file can be put.
NO_FOLDER = [spoil for spoil in ANY if spoil is not toy_store.made_a_folder]


def test_what_was_not_changed_is_recognized(run: Path, proto: Path) -> None:
    """Without this every test below would pass of a shortcut that is never taken."""
    before = touched(run)
    assert again(run.parent).short
    assert touched(run) == before
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("spoil", [*ANY, of_another_part, of_another_job])
def test_a_part(run: Path, proto: Path, spoil: Spoil) -> None:
    spoil(run / STEP)
    mended(run, proto)


@pytest.mark.parametrize("spoil", [bit_flipped, removed, of_another_part])
def test_a_part_that_has_the_same_bytes_when_it_is_computed_anew(
    run: Path, proto: Path, spoil: Spoil
) -> None:
    """As no time is in it: nothing of what the tables were made of is different in the end."""
    before = (run / FEATURE).read_bytes()
    spoil(run / FEATURE)
    mended(run, proto)
    assert (run / FEATURE).read_bytes() == before


def test_a_part_that_goes_bad_while_the_tables_are_made(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made without it they are no longer up to date, although it has the same bytes again."""
    true = module.write_tables
    left = [FEATURE]

    def spoil_and_write(identity: Identity, root: Path, allowed: Callable[[], object]) -> bool:
        if left:
            bit_flipped(root / left.pop())
        return true(identity, root, allowed)

    monkeypatch.setattr(module, "write_tables", spoil_and_write)
    (run / "rows.csv").unlink()
    mended(run, proto)
    assert left == []


@pytest.mark.parametrize("name", [f"{JOB}/step-9.json", "er.order-0.seed-0/step-1.json", "x.json"])
@pytest.mark.parametrize("kind", ["file", "link", "pipe", "folder"])
def test_something_more_beside_the_parts(run: Path, proto: Path, name: str, kind: str) -> None:
    """It belongs to no job; a file in the folder of the jobs itself is not even a part."""
    path = run / "jobs" / name
    path.parent.mkdir(exist_ok=True)
    match kind:
        case "file":
            shutil.copy(run / STEP, path)
        case "link":
            path.symlink_to(run / STEP)
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    said = again(run.parent)
    if (name, kind) == ("x.json", "link"):
        assert (said.code, said.short) == (2, False)
        assert "is a link" in said.err
    else:
        assert said.code == 0
        assert said.short == (name == "x.json")
        assert shown(run) == shown(proto)
        assert again(run.parent).short


@pytest.mark.parametrize(
    "name", ["jobs", f"jobs/{JOB}", "figures", "quarantine", "locks", "scratch", "failures"]
)
def test_a_folder_that_is_a_link(run: Path, tmp_path: Path, name: str) -> None:
    """To a folder elsewhere with the very same in it."""
    (run / name).mkdir(exist_ok=True)
    (run / name).rename(tmp_path / "elsewhere")
    (run / name).symlink_to(tmp_path / "elsewhere")
    before = touched(tmp_path)
    said = again(run.parent)
    assert (said.code, said.short) == (2, False)
    assert f"{run}/{name} is a link" in said.err
    assert touched(tmp_path) == before


@pytest.mark.parametrize("spoil", NO_FOLDER)
@pytest.mark.parametrize("name", ["rows.csv", "summary.csv", TIMES, "figures/depth.png"])
def test_a_table_or_figure(run: Path, proto: Path, name: str, spoil: Spoil) -> None:
    spoil(run / name)
    mended(run, proto)
    assert shown(run) == shown(proto)


def test_a_table_that_is_edited_while_the_figures_are_drawn(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes seconds."""
    left = ["rows.csv"]

    def edit_and_draw(root: Path) -> None:
        for name in left:
            bit_flipped(root / name)
        left.clear()
        drawn(root)

    (run / TIMES).unlink()
    monkeypatch.setattr("tests.finished.small.drawn", edit_and_draw)
    assert again(run.parent).code == 0
    assert left == []
    mended(run, proto)
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("name", SHOWN)
def test_each_of_them(run: Path, proto: Path, name: str) -> None:
    bit_flipped(run / name)
    mended(run, proto)
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("how", ["emptied", "removed", "of another study"])
def test_all_figures(run: Path, proto: Path, how: str) -> None:
    for path in (run / "figures").iterdir():
        path.unlink()
        if how != "removed":
            path.write_text("" if how == "emptied" else "of another study")
    if how == "removed":
        (run / "figures").rmdir()
    mended(run, proto)
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("name", ["sessions.png", "mine.png", "My-own.svg"])
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_figure_that_is_not_ours(run: Path, proto: Path, name: str, kind: str) -> None:
    """It does not stop the study, which shows itself as without the shortcut."""
    path = run / "figures" / name
    if kind == "file":
        path.write_bytes(b"mine")
    elif kind == "link":
        path.symlink_to("nowhere")
    else:
        path.mkdir()
    first, second = again(run.parent), again(run.parent)
    assert (first.code, second.code) == (0, 0)
    assert not first.short
    assert first.results == second.results
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("spoil", ANY)
def test_the_description(run: Path, proto: Path, spoil: Spoil) -> None:
    spoil(run / "study.json")
    mended(run, proto)


def test_the_description_of_another_study(run: Path, tmp_path: Path) -> None:
    other = finished(tmp_path / "other", DIGITS.replace("epochs = 1", "epochs = 2"))
    shutil.copy(other / "study.json", run / "study.json")
    said = again(run.parent)
    assert (said.code, said.short) == (2, False)
    assert "belongs to another study: training.epochs is 2 there and 1 here" in said.err


@pytest.mark.parametrize("spoil", ANY)
def test_what_is_known_of_the_tables(run: Path, proto: Path, spoil: Spoil) -> None:
    spoil(run / "tables.json")
    mended(run, proto)
    assert shown(run) == shown(proto)


def test_what_is_known_of_the_tables_of_another_run(run: Path, proto: Path, tmp_path: Path) -> None:
    """Even of the same study: no two took the same time."""
    other = finished(tmp_path / "other")
    assert tables(other) == tables(proto)
    shutil.copy(other / "tables.json", run / "tables.json")
    mended(run, proto)
    shutil.copy(other / "tables.json", run / "tables.json")
    for name in (*TABLES, TIMES):
        shutil.copy(other / name, run / name)
    mended(run, proto)
    assert shown(run) == shown(proto)


def test_a_command_without_a_study(run: Path) -> None:
    """What is wrong with it is said as without a run directory."""
    said = probe("run", run.parent / "other.toml", "--out", run)
    assert (said.code, said.short) == (2, False)
    assert said.err.startswith("error: cannot read the study")
