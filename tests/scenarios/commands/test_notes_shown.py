"""The lines of notes: each note once, with all that it holds for; not too many, and printable."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from probe.errors import InputError
from probe.tables.rows import NoteRow, Row
from probe.tables.table_file import write_table
from scenarios.commands.screen.results import note_lines
from tests.scenarios.commands.test_terminal import EVIL, TAMED

Measured = tuple[str, str, int, str]  # learner, order, seed, feature


def written(
    root: Path, notes: Iterable[tuple[Measured, str]], measured: Iterable[Measured]
) -> list[str]:
    """Return the lines of a run directory with those notes, in which that was measured."""
    columns = ("learner", "order", "seed", "feature")
    noted = [NoteRow(**dict(zip(columns, of, strict=True)), note=note) for of, note in notes]  # type: ignore[arg-type]
    pra = [
        Row(
            scenario="digits",
            network="mlp",
            learner=learner,
            order=order,
            seed=seed,
            feature=feature,
            depth=1,
            measure="pra",
            value=0.5,
        )
        for learner, order, seed, feature in measured
    ]
    write_table(root / "notes.csv", NoteRow, noted)
    write_table(root / "rows.csv", Row, pra)
    return note_lines(root)


def grid(learners: str, seeds: int, features: str) -> list[Measured]:
    return [(x, "0", seed, f) for x in learners.split() for seed in range(seeds) for f in features]


def test_a_note_comes_once_with_all_that_it_holds_for(tmp_path: Path) -> None:
    """Jobs are counted, not features; where a feature has no note at all, its jobs do not count."""
    measured = grid("er ft", 3, "abc")
    noted = [("er", "0", 0, "a"), ("er", "0", 0, "b"), ("ft", "0", 2, "b")]
    assert written(tmp_path, [(of, "so") for of in noted], measured) == [
        "note: er, ft, behind a, b (2 of 6 jobs): so"
    ]
    one = [("er", "0", 0, "a")]
    assert written(tmp_path, [(of, "so") for of in one], one) == [
        "note: er, behind a (1 of 1 job): so"
    ]


def test_what_holds_for_most_jobs_comes_first_and_many_are_counted(tmp_path: Path) -> None:
    measured = grid("er", 9, "a")
    notes = [(of, f"note {k}") for k, of in enumerate(measured)]
    rare = [(measured[0], f"rare {k}") for k in range(11)]
    lines = written(tmp_path, [*rare, *notes, *((of, "everywhere") for of in measured)], measured)
    assert lines[0] == "note: er, behind a (9 of 9 jobs): everywhere"
    assert lines[1:8] == [f"note: er, behind a (1 of 9 jobs): rare {k}" for k in range(7)]
    assert lines[8:] == ["and 13 more in notes.csv"]


def test_eight_notes_are_all_shown(tmp_path: Path) -> None:
    measured = grid("er", 1, "a")
    lines = written(tmp_path, [(measured[0], f"note {k}") for k in range(8)], measured)
    assert len(lines) == 8
    assert lines[-1].endswith("note 7")


def test_of_many_features_the_first_are_named(tmp_path: Path) -> None:
    measured = grid("er", 1, "abcdef")
    [line] = written(tmp_path, [(of, "so") for of in measured], measured)
    assert line == "note: er, behind a, b, c, d and 2 more (1 of 1 job): so"


def test_what_a_file_says_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    job = (EVIL, "0", 0, EVIL)
    assert written(tmp_path, [(job, f"{EVIL}\n")], [job]) == [
        f"note: {TAMED}, behind {TAMED} (1 of 1 job): {TAMED}\\n"
    ]


def step_rows(root: Path, notes: Iterable[NoteRow], steps: dict[str, int]) -> list[str]:
    """Return the lines of a run directory whose learners were measured until those steps."""
    write_table(root / "notes.csv", NoteRow, notes)
    known = {"scenario": "digits", "network": "mlp", "order": "0", "seed": 0, "depth": 1}
    pra = [
        Row(**known, learner=name, step=k, feature=f, measure="pra", value=0.5)  # type: ignore[arg-type]
        for name, last in steps.items()
        for k in range(last + 1)
        for f in "ab"
    ]
    write_table(root / "rows.csv", Row, pra)
    return note_lines(root)


def note(learner: str, step: int | None, readout: str, feature: str = "a") -> NoteRow:
    place = {"order": "0", "seed": 0, "feature": feature, "step": step}
    return NoteRow(learner=learner, readout=readout, note="so", **place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([note("er", 5, "retrain")], "er, behind a"),
        ([note("er", None, "")], "er, behind a"),
        ([note("er", 5, "linear")], "er, behind a, read by linear"),
        ([note("er", 5, "retrain@4")], "er, behind a, retrained for 4 times the epochs"),
        ([note("er", 5, "ncm+bn")], "er, behind a, read by ncm, with batch norm reestimated"),
        ([note("er", 1, "retrain")], "er, behind a, after 1 task"),
        ([note("er", k, "knn") for k in (3, 2)], "er, behind a, read by knn, after 2, 3 tasks"),
        ([note("er", k, "") for k in (2, 5)], "er, behind a, after 2 tasks and after all"),
        ([note("er", 0, "linear")], "er, behind a, read by linear, after 0 tasks"),
        ([note("er", 3, "", feature="")], "er, after 3 tasks"),
        # Each ends after another number of tasks.
        ([note("er", 5, ""), note("untrained", 0, "")], "er, untrained, behind a"),
    ],
)
def test_a_line_says_the_readout_and_the_step_where_they_matter(
    tmp_path: Path, notes: list[NoteRow], said: str
) -> None:
    [line] = step_rows(tmp_path, notes, {"er": 5, "untrained": 0})
    jobs = "2 of 2 jobs" if "untrained" in said else "1 of 1 job"
    assert line == f"note: {said} ({jobs}): so"


def test_readouts_do_not_share_a_line_nor_does_a_learner_with_its_features(tmp_path: Path) -> None:
    notes = [note("er", 5, "retrain"), note("er", 5, "linear"), note("er", 5, "", feature="")]
    assert step_rows(tmp_path, notes, {"er": 5}) == [
        "note: er, behind a (1 of 1 job): so",
        "note: er, behind a, read by linear (1 of 1 job): so",
        "note: er (1 of 1 job): so",
    ]


def test_a_directory_without_notes_has_no_lines(tmp_path: Path) -> None:
    assert note_lines(tmp_path) == []


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("learner,note\n")
    with pytest.raises(InputError, match=r"notes\.csv: expected the columns learner,order,seed"):
        note_lines(tmp_path)
