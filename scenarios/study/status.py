"""How far a study is: what `probe status` does."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from scenarios.study.identity import read_identity
from scenarios.study.job import jobs_of, parts_of
from scenarios.study.quarantine import notes
from scenarios.study.store import Store


def show_status(root: Path) -> None:
    """Print how many parts of each learner are finished, and what was set aside."""
    identity = read_identity(root)
    study = identity.study
    table = Table(title=f"{study.name}: finished parts", title_justify="left")
    for column in ("learner", "jobs", "parts", "of"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    jobs = jobs_of(study, len(identity.tasks))
    for learner in study.learners:
        own = [job for job in jobs if job.learner == learner]
        done = sum(
            len(Store(root, identity.of(job)).finished(job.name) & set(parts_of(study, job)))
            for job in own
        )
        total = sum(len(parts_of(study, job)) for job in own)
        table.add_row(learner, str(len(own)), str(done), str(total))
    console = Console()
    console.print(table)
    for note in notes(root):
        console.print(note, markup=False)
