"""The lines of notes: each note once, with all that it holds for; not too many, and printable."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from probe.tables.rows import MeasurementRow, NoteRow
from probe.tables.table_file import write_table
from scenarios.commands.screen.results import note_lines

Measured = tuple[str, int, str]  # learner, seed, feature


def lines_of(
    root: Path, notes: Iterable[NoteRow], measured: Iterable[tuple[object, ...]]
) -> list[str]:
    """Return the lines of a run directory; measured: learner, seed, feature, and perhaps step."""
    columns = ("learner", "seed", "feature", "tasks_seen")
    known = {"scenario": "digits", "network": "mlp", "order": "0", "depth": 1, "metric": "pra"}
    known["tasks_seen"] = 5
    rows = [
        MeasurementRow(**known | dict(zip(columns, at, strict=False)), value=0.5) for at in measured
    ]  # type: ignore[arg-type]
    write_table(root / "notes.csv", NoteRow, notes)
    write_table(root / "measurements.csv", MeasurementRow, rows)
    return note_lines(root)


def on(at: Measured, text: str, **more: object) -> NoteRow:
    learner, seed, feature = at
    more = {"tasks_seen": 5} | more
    return NoteRow(learner=learner, order="0", seed=seed, feature=feature, note=text, **more)  # type: ignore[arg-type]


def grid(learners: str, seeds: int, features: str) -> list[Measured]:
    return [(x, seed, f) for x in learners.split() for seed in range(seeds) for f in features]


def test_a_note_comes_once_with_all_that_it_holds_for(tmp_path: Path) -> None:
    """Jobs are counted, not features; where a feature has no note at all, its jobs do not count."""
    noted = [on(at, "so") for at in (("er", 0, "a"), ("er", 0, "b"), ("ft", 2, "b"))]
    assert lines_of(tmp_path, noted, grid("er ft", 3, "abc")) == [
        "note: er, ft, downstream of a, b (2 of 6 jobs): so"
    ]
    many = grid("er", 1, "abcdef")
    assert lines_of(tmp_path, [on(at, "so") for at in many], many) == [
        "note: er, downstream of a, b, c, d and 2 more (1 of 1 job): so"
    ]


def test_notes_on_most_jobs_come_first_and_many_are_counted(tmp_path: Path) -> None:
    measured = grid("er", 9, "a")
    rare = [on(measured[0], f"rare {k}") for k in range(9)]
    everywhere = [on(at, "everywhere") for at in measured]
    assert lines_of(tmp_path, [*rare, *everywhere], measured) == [
        "note: er, downstream of a (9 of 9 jobs): everywhere",
        *(f"note: er, downstream of a (1 of 9 jobs): rare {k}" for k in range(7)),
        "and 2 more in notes.csv",
    ]


def note(learner: str, tasks_seen: int, readout: str, feature: str = "a") -> NoteRow:
    return on((learner, 0, feature), "so", tasks_seen=tasks_seen, readout=readout)


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        (
            [note("er", 1, "retrain@4")],
            "er, downstream of a, retrained for 4 times the epochs, after 1 task",
        ),
        (
            [note("er", k, "knn") for k in (3, 2)],
            "er, downstream of a, read by knn, after 2, 3 tasks",
        ),
        ([note("er", k, "") for k in (2, 5)], "er, downstream of a, after 2 tasks and after all"),
        ([note("er", 3, "", feature="")], "er, after 3 tasks"),
        # Each ends after another number of tasks.
        ([note("er", 5, ""), note("untrained", 0, "")], "er, untrained, downstream of a"),
    ],
)
def test_a_line_says_the_readout_and_the_step_where_they_matter(
    tmp_path: Path, notes: list[NoteRow], said: str
) -> None:
    measured = [("er", 0, f, k) for k in range(6) for f in "ab"]
    [line] = lines_of(tmp_path, notes, [*measured, ("untrained", 0, "a", 0)])
    jobs = "2 of 2 jobs" if "untrained" in said else "1 of 1 job"
    assert line == f"note: {said} ({jobs}): so"


def test_readouts_do_not_share_a_line_nor_does_a_learner_with_its_features(tmp_path: Path) -> None:
    notes = [note("er", 5, "retrain"), note("er", 5, "linear"), note("er", 5, "", feature="")]
    assert lines_of(tmp_path, notes, [("er", 0, "a", 5)]) == [
        "note: er (1 of 1 job): so",
        "note: er, downstream of a (1 of 1 job): so",
        "note: er, downstream of a, read by linear (1 of 1 job): so",
    ]
