"""What was read from files is shown, and moves no cursor: escapes, turned text, rich's markup."""

from __future__ import annotations

import io
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import describe
from probe.tables.rows import NoteRow
from scenarios.commands.screen.progress import show_ends
from scenarios.commands.screen.terminal import printable
from scenarios.execution.work import Ended
from tests.scenarios.commands.test_results import START, STATED, layers, metric, pra, printed
from tests.scenarios.execution.helpers import tiny_plan

__all__ = ["printed"]

EVIL = "\x1b[2J\u202e[/red][bold]\x07"
TAMED = r"\x1b[2J\u202e[/red][bold]\x07"
_, PLAN = tiny_plan()
JOB = jobs_of(PLAN)[0]


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_is_printable_and_the_rest_is_left(text):
    shown = printable(text)
    assert shown.isprintable()
    kept = {c for c in text if unicodedata.category(c)[0] not in "CZ" or c == " "}
    assert printable("".join(sorted(kept))) == "".join(sorted(kept))
    assert (shown == text) == text.isprintable()


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=300, force_terminal=True, color_system=None)


def test_reasons_of_failures(console, tmp_path):
    show_ends(console, tmp_path, [Ended(job=JOB, how="failed", reason=EVIL)])
    said = console.file.getvalue()
    assert said.count(TAMED) == 1
    assert not set("\x1b\u202e\x07") & set(said)


def test_tables_of_results(printed):
    """Where a heading, a first cell or a note names a learner, a feature or a head."""
    note = NoteRow(learner=EVIL, order="0", seed=0, feature=EVIL, note=f"{EVIL}\n", tasks_seen=1)
    tables = {
        "summary": [pra(EVIL, EVIL, 0.5, 1), pra(EVIL, "out", 0.5, 2)],
        "metrics": [metric(EVIL, "omega_new", EVIL, 0.5)],
        "layers": [replace(row, feature=EVIL) for row in layers(EVIL)],
        "statements": [replace(STATED, learner=EVIL, feature=EVIL)],
        "first_layer": [replace(START, learner=EVIL, first_possible=EVIL, first_confirmed=EVIL)],
        "notes": [note],
        "measurements": [],
    }
    lines = printed(width=300, omegas=True, **tables)
    assert sum(line.count(TAMED) for line in lines) == 13
    assert not set("\x1b\u202e\x07") & set("".join(lines))
    assert any(line.endswith(f"{TAMED}\\n") for line in lines)


@pytest.mark.parametrize("other", ["finished", "locked"])
def test_the_tables_lack_what_failed_unless_other_processes_are_still_at_it(
    console, tmp_path, other
):
    """Then there are no tables yet."""
    ends = [Ended(job=JOB, how=how, reason="it ended so") for how in ("failed", other)]
    assert not show_ends(console, tmp_path, ends)
    assert ("tables" in console.file.getvalue().splitlines()[-1]) == (other == "finished")
    assert show_ends(console, tmp_path, [Ended(job=JOB, how="finished", reason="")])


def test_the_notes_and_the_name_of_a_run_directory(probe, tmp_path):
    (tmp_path / "run" / "quarantine").mkdir(parents=True)
    describe(tmp_path / "run", PLAN)
    (tmp_path / "run" / "quarantine" / "x.txt").write_text(f"measurements.csv: {EVIL}\nsecond\n")
    code, out, err = probe("status run")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [f"measurements.csv: {TAMED}", "second"]
    (tmp_path / EVIL.replace("/", "")).mkdir()
    code, out, err = probe(f"status '{EVIL.replace('/', '')}'")
    assert (code, out) == (2, "")
    assert TAMED.replace("/", "") in err
    assert err[:-1].isprintable()
