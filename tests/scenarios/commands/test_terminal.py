"""What others have written is shown, and moves no cursor: escapes, turned text, rich's markup."""

from __future__ import annotations

import io
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.scenarios.commands.test_console import after, pra
from tests.scenarios.study.toy_identity import identity, study

from scenarios.commands.progress import show_ends, show_progress
from scenarios.commands.results import show_omegas, show_results
from scenarios.commands.terminal import printable
from scenarios.execution.schedule import Waiting
from scenarios.execution.work import Ended
from scenarios.study.job import jobs_of

EVIL = "\x1b[2J\u202e[/red][bold]\x07"
TAMED = r"\x1b[2J\u202e[/red][bold]\x07"
WHOLE = identity(study(None, "orders", "none"))
JOB = jobs_of(WHOLE.study, len(WHOLE.tasks))[0]


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_is_printable_and_the_rest_is_left(text):
    shown = printable(text)
    assert shown.isprintable()
    kept = {c for c in text if unicodedata.category(c)[0] not in "CZ" or c == " "}
    assert printable("".join(sorted(kept))) == "".join(sorted(kept))
    assert (shown == text) == text.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (EVIL, TAMED),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b31m\xa0\u2028", r"\x9b31m\xa0\u2028"),
        ("\udc80\U000e0041", r"\udc80\U000e0041"),
        ("Größe 5 日本", "Größe 5 日本"),
    ],
)
def test_it_is_shown_as_its_escape(text, shown):
    assert printable(text) == shown


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=300, force_terminal=True, color_system=None)


def said(console: Console) -> str:
    return console.file.getvalue()


@pytest.mark.parametrize("how", ["held", "failed"])
def test_why_a_job_has_not_ended(console, tmp_path, how):
    show_ends(console, tmp_path, [Ended(job=JOB, how=how, reason=EVIL)])
    assert TAMED in said(console)
    assert "\x1b[2J" not in said(console)
    assert "\u202e" not in said(console)


def test_the_tables_of_results(console):
    summary = [pra(EVIL, feature, 0.5, depth) for depth, feature in enumerate((EVIL, "out"), 1)]
    metrics = [after(1, "average_accuracy", EVIL, EVIL, 0.5)]
    show_results(console, summary, metrics)
    show_omegas(console, [after(1, "omega_new", EVIL, EVIL, 0.5)], [])
    lines = said(console).splitlines()
    assert sum(TAMED in line for line in lines) == 4
    assert not set("\x1b\u202e\x07") & set(said(console))


class WorkOfNothing:
    """What `show_progress` asks of a work."""

    identity = WHOLE

    def finished(self, job):
        return set()


def test_who_does_the_jobs_that_are_left(console):
    def events():
        yield Waiting(jobs=1, holder=EVIL)
        time.sleep(0.5)  # a bar is drawn ten times a second

    show_progress(console, WorkOfNothing(), [JOB], events())
    assert f"1 jobs left to {TAMED}" in said(console)
    assert "\x1b[2J" not in said(console)
    assert "\u202e" not in said(console)


def a_run(root: Path) -> Path:
    WHOLE.claim(root)
    (root / "quarantine").mkdir()
    (root / "quarantine" / "x.txt").write_text(f"rows.csv: {EVIL}\nsecond\n")
    return root


def test_the_notes_of_a_run_directory(probe, tmp_path):
    a_run(tmp_path / "run")
    code, out, err = probe("status run")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [f"rows.csv: {TAMED}", "second"]


def test_the_names_of_a_run_directory(probe, tmp_path):
    (tmp_path / EVIL.replace("/", "")).mkdir()
    code, out, err = probe(f"status '{EVIL.replace('/', '')}'")
    assert (code, out) == (2, "")
    assert TAMED.replace("/", "") in err
    assert err[:-1].isprintable()
