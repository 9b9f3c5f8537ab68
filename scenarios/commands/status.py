"""`probe status`: how far a study is, without changing anything.

It can be asked while the study runs, from any machine that sees the run directory. Neither the
study's file nor its data are needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scenarios.commands.screen.terminal import printable
from scenarios.execution.locks import is_locked
from scenarios.study.fingerprint import Setup
from scenarios.study.run_directory import JobState, described, remarks, survey


def show_status(root: Path) -> None:
    """Print how many parts of each learner are finished, what is being done, what is corrupt.

    root: the run directory. Only parts that are not corrupt count. Nothing is written: a corrupt
    file is named and stays where it is. Raises InputError if the directory holds no study.
    """
    with described(root) as setup:
        _show(root, setup, survey(setup, root))


def _show(root: Path, setup: Setup, states: Sequence[JobState]) -> None:
    """Print how far the jobs of a study are."""
    by_learner = defaultdict[str, list[JobState]](list)
    for state in states:
        by_learner[state.job.learner].append(state)
    table = Table(title=f"{setup.study.name}: finished parts", title_justify="left")
    for column in ("learner", "jobs", "parts", "of"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for learner, own in by_learner.items():
        numbers = len(own), sum(s.done for s in own), sum(s.parts for s in own)
        table.add_row(escape(printable(learner)), *map(str, numbers))
    console = Console()
    console.print(table)
    corrupt = [
        f"{state.job.name}, {part}: a corrupt file; `probe run` sets it aside and computes it again"
        for state in states
        for part in state.corrupt
    ]
    at_work = [
        f"{state.job.name} is being done by another process"
        for state in states
        if is_locked(root / "jobs" / state.job.name)
    ]
    for line in (*corrupt, *at_work, *remarks(root, states)):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
