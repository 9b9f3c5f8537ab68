"""What somebody wrote into tables.json himself, with a seal that is right: never believed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from scenarios.study.sealing import sealed

from probe.tables.run_directory import TABLES, TIMES
from tests.finished.opened import opened_below
from tests.finished.small import FIGURES, mended, shown

SHOWN = [*TABLES, TIMES, *(f"figures/{name}" for name in FIGURES)]
WRONG = [None, False, 7, "", "x", [], [[1, 2]], {}]
ELSEWHERE = [
    *("../../x.csv", "figures/../../x.csv", "figures/../../../x.png", "{}/x.csv"),
    *("figures/../x.csv", "../x.png", "x.txt", "..", "", "jobs/x.csv", "figures/x/x.png"),
]


def record(run: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((run / "tables.json").read_bytes())
    del found["sha256"]
    return found


def forged(run: Path, value: object) -> None:
    (run / "tables.json").write_bytes(sealed(json.dumps(value).encode()))


@pytest.mark.parametrize("key", ["made_of", "files", "origin", "origin.command", "origin.data", ""])
def test_senseless_things_are_known_of_the_tables(run: Path, proto: Path, key: str) -> None:
    """With a seal that is right."""
    first, _, second = key.partition(".")
    for value in WRONG:
        found = record(run)
        if second:
            found[first][second] = value  # type: ignore[index]
        elif first:
            found[first] = value
        if found != record(run) or not key:
            forged(run, found if key else value)
            mended(run, proto)
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("key", ["made_of", "files", "origin"])
def test_something_is_not_known(run: Path, proto: Path, key: str) -> None:
    found = record(run)
    del found[key]
    forged(run, found)
    mended(run, proto)


@pytest.mark.parametrize("name", SHOWN)
def test_a_table_or_figure_is_not_known(run: Path, proto: Path, name: str) -> None:
    """It could be anything."""
    found = record(run)
    del found["files"][name]  # type: ignore[attr-defined]
    forged(run, found)
    (run / name).write_bytes(b"anything")
    mended(run, proto)
    assert shown(run) == shown(proto)


def test_no_table_is_known(run: Path, proto: Path) -> None:
    """So none that is gone is missed."""
    forged(run, {**record(run), "files": {}})
    for name in SHOWN:
        (run / name).unlink()
    mended(run, proto)
    assert shown(run) == shown(proto)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_leads_elsewhere_is_not_opened(run: Path, proto: Path, name: str) -> None:
    found, path = record(run), name.format(run.parents[1])
    found["files"][path] = "0" * 64  # type: ignore[index]
    forged(run, found)
    for outside in (run.parents[1] / "x.csv", run.parent / "x.csv", run.parents[1] / "x.png"):
        os.mkfifo(outside)
    with opened_below(run.parents[1]) as opened:
        mended(run, proto)
    assert run / "rows.csv" in opened
    assert not [each for each in opened if each.name.startswith("x.")]
    assert shown(run) == shown(proto)


def test_data_that_lie_elsewhere_are_not_opened(run: Path, proto: Path) -> None:
    """They are only looked at, and a pipe keeps nobody waiting."""
    found, pipe = record(run), run.parents[1] / "x.npz"
    os.mkfifo(pipe)
    found["origin"]["data"] = {str(pipe): [0, 0, 0, 0], "a\0b": None}  # type: ignore[index]
    forged(run, found)
    with opened_below(run.parents[1]) as opened:
        mended(run, proto)
    assert pipe not in opened
    with opened_below(run.parents[1]) as opened:
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    assert pipe in opened
