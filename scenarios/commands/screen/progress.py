"""What `probe run` prints while it runs: the plan, a bar with the time left, and what failed.

All of it is drawn from the events of `scenarios.execution.schedule`, wherever jobs are done. The
bar counts effort, not parts: retraining on the data of all tasks takes as long as many tasks, and
the time left would else be far off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from probe.files import discard, make_folder, replacing
from probe.memory import show_size
from probe.values.allocation import Allocation, CacheSettings
from scenarios.commands.screen.terminal import printable
from scenarios.execution.remaining import effort
from scenarios.execution.schedule import Waiting
from scenarios.execution.work import Ended, Event, Part, Work
from scenarios.study.jobs import Job
from scenarios.study.run_directory import FAILURES, failure_file


def show_progress(
    console: Console, work: Work, jobs: Sequence[Job], events: Iterable[Event | Waiting]
) -> list[Ended]:
    """Draw from `events` until there are none, showing how far it is; return how jobs ended.

    work, jobs: all that is to be done, of which some may be finished already; events: see
    `scenarios.execution.schedule.execute`, which is carried on by being read here. What it raises
    goes through, after the bar is closed.
    """
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
    total = sum(effort(job, part) for job in jobs for part in parts[job])
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(name, total=total, completed=0)
        # Set after the bar has begun: the time left is judged by what this run does itself.
        progress.update(bar, completed=sum(effort(each.job, each.part) for each in done))
        for event in events:
            if isinstance(event, Waiting):
                progress.update(bar, description=f"{event.jobs} jobs left to other processes")
            elif isinstance(event, Ended):
                ends.append(event)
            # Of a job that another process finished all parts are told, also those counted before.
            elif event not in done:
                done.add(event)
                at = f"{event.job.name} {event.part}"
                progress.update(bar, advance=effort(event.job, event.part), description=at)
        progress.update(bar, description=name)
    return ends


_LACKING = (
    "the tables are made of what was finished: means are over fewer orders or seeds, or missing"
)


def show_ends(console: Console, root: Path, ends: Iterable[Ended]) -> bool:
    """Print which jobs failed and which others do; return whether none failed.

    root: the run directory. Why a job failed is written to `failures/` there, and of an error that
    nobody foresaw where it came from: a file for each job, which is removed once it is finished.
    Raises NotWritten if that cannot be written.
    """
    ends = list(ends)
    for end in ends:
        if end.how == "finished":
            discard(failure_file(root, end.job))
    # It stays as long as a file is in it.
    with suppress(OSError):
        (root / FAILURES).rmdir()
    locked = [end for end in ends if end.how == "locked"]
    if locked:
        console.print(
            f"{'1 job is' if len(locked) == 1 else f'{len(locked)} jobs are'} being done by other "
            f"processes: the last to finish writes the tables",
            soft_wrap=True,
        )
    # Last, so that what has to be looked into stands at the end of what is shown.
    failed = [end for end in ends if end.how == "failed"]
    if failed:
        jobs = "1 job" if len(failed) == 1 else f"{len(failed)} jobs"
        console.print(f"{jobs} failed; run the same command again to try again:")
    for end in failed:
        said = printable(f"{end.job.name}: {end.reason}")
        console.print(f"  {said}", markup=False, soft_wrap=True)
        path = failure_file(root, end.job)
        make_folder(path.parent)
        with replacing(path) as partial:
            partial.write_text(end.trace or end.reason, encoding="utf-8")
        # The rest of it stands above.
        if end.trace:
            console.print(f"    {printable(str(path))}", markup=False, soft_wrap=True)
    if failed and not locked:
        console.print(_LACKING, soft_wrap=True)
    return not failed


def show_plan(
    console: Console, plans: Mapping[str, Sequence[Allocation]], cache: CacheSettings
) -> None:
    """Print where each feature's values live while networks, by name, are retrained behind it.

    plans: see `scenarios.study.preflight.cache_plans`; cache: the memory that one worker has. A
    line for each feature; the network is named only if there are several.
    """
    allowed = show_size(cache.budget or 0)
    console.print(f"features' values, of which at most {allowed} in memory per worker:")
    for network, plan in plans.items():
        for each in plan:
            line = f"  {each}" if len(plans) == 1 else f"  {network}, {each}"
            console.print(line, markup=False, highlight=False)
