"""How far a study is while it runs: a bar with the time left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from scenarios.execution.schedule import Waiting
from scenarios.execution.work import Ended, Event, Part, Work
from scenarios.study.jobs import Job


def show_progress(
    console: Console, work: Work, jobs: Sequence[Job], events: Iterable[Event | Waiting]
) -> list[Ended]:
    """Draw from `events` until there are none, showing how far it is; return how jobs ended."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    name, ends = work.setup.study.name, list[Ended]()
    parts = {job: work.parts(job) for job in jobs}
    done = {Part(job, part) for job in jobs for part in work.finished(job)}
    total = sum(_effort(job, part) for job in jobs for part in parts[job])
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(name, total=total, completed=0)
        progress.update(bar, completed=sum(_effort(each.job, each.part) for each in done))
        for event in events:
            if isinstance(event, Waiting):
                progress.update(bar, description=f"{event.jobs} jobs left to other processes")
            elif isinstance(event, Ended):
                ends.append(event)
            elif event not in done:
                done.add(event)
                effort, at = _effort(event.job, event.part), f"{event.job.name} {event.part}"
                progress.update(bar, advance=effort, description=at)
        progress.update(bar, description=name)
    return ends


def _effort(job: Job, part: str) -> float:
    """Return roughly how long a part takes, in tasks trained on."""
    if part == "step-0":
        return 0.1
    if part.startswith("feature-") or job.offline:
        return len(job.tasks)
    return int(part.removeprefix("step-")) if job.kind == "cumulative" else 1.0
