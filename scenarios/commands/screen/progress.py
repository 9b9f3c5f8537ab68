"""Output of `probe run` while it runs: the plan, a bar with the time left, and failed jobs.

It follows the events of `scenarios.execution.schedule`, wherever jobs are done. The bar counts
effort, not measurements, as retraining takes as long as all tasks together.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich import progress as bars
from rich.console import Console

from probe.by_layer.jobs import Job
from probe.byte_sizes import show_size
from probe.files import discard, make_folder, replacing
from probe.results.run_directory import FAILURES, failure_file
from probe.values.allocation import Allocation, CacheSettings
from scenarios.commands.screen.terminal import show_line
from scenarios.execution.remaining import effort
from scenarios.execution.schedule import Waiting
from scenarios.execution.work import Ended, Event, Measured, Work


def show_progress(
    console: Console, work: Work, jobs: Sequence[Job], events: Iterable[Event | Waiting]
) -> list[Ended]:
    """Read `events` to their end, showing the progress; return the ends of the jobs.

    jobs: all of the study, finished ones included; events: from
    `scenarios.execution.schedule.execute`, whose errors pass through after the bar is closed.
    """
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
    )
    name, ends = work.plan.name, list[Ended]()
    done = {Measured(job, key) for job in jobs for key in work.finished(job)}
    total = sum(effort(job, key) for job in jobs for key in work.keys(job))
    with bars.Progress(*columns, console=console) as progress:
        bar = progress.add_task(name, total=total, completed=0)
        # Set after the bar has begun: the time left is estimated from this run alone.
        progress.update(bar, completed=sum(effort(each.job, each.key) for each in done))
        for event in events:
            if isinstance(event, Waiting):
                progress.update(bar, description=f"{event.jobs} jobs left to other processes")
            elif isinstance(event, Ended):
                ends.append(event)
            # A job finished by another process reports all measurements, also those counted.
            elif event not in done:
                done.add(event)
                at = f"{event.job.name}: {event.key}"
                progress.update(bar, advance=effort(event.job, event.key), description=at)
        progress.update(bar, description=name)
    return ends


_LACKING = "the tables contain only finished jobs: means are over fewer orders or seeds, or missing"


def show_ends(console: Console, root: Path, ends: Sequence[Ended]) -> bool:
    """Print failed jobs and the number of other processes' jobs; return whether none failed.

    root: the run directory. The reason of each failure, with the traceback of an unforeseen error,
    is written to a file in `failures/`, which is removed once the job is finished. Raises
    NotWritten if it cannot be written.
    """
    for end in ends:
        if end.how == "finished":
            discard(failure_file(root, end.job))
    # It stays as long as a file is in it.
    with suppress(OSError):
        (root / FAILURES).rmdir()
    if locked := sum(end.how == "locked" for end in ends):
        jobs = "1 job is" if locked == 1 else f"{locked} jobs are"
        others = "running in other processes: the last to finish writes the tables"
        show_line(console, f"{jobs} {others}")
    # Last, so that the end of the output names what needs attention.
    if failed := [end for end in ends if end.how == "failed"]:
        jobs = "1 job" if len(failed) == 1 else f"{len(failed)} jobs"
        console.print(f"{jobs} failed; run the same command again to try again:")
    for end in failed:
        show_line(console, f"  {end.job.name}: {end.reason}")
        path = failure_file(root, end.job)
        make_folder(path.parent)
        with replacing(path) as partial:
            partial.write_text(end.trace or end.reason, encoding="utf-8")
        if end.trace:
            show_line(console, f"    {path}")
    if failed and not locked:
        show_line(console, _LACKING)
    return not failed


def show_plan(
    console: Console, plans: Mapping[str, Sequence[Allocation]], cache: CacheSettings
) -> None:
    """Print the location of each feature's activations while layers downstream are retrained.

    plans: by network, see `scenarios.study.preflight.cache_plans`; cache: the memory of one worker.
    The network is named only if there are several.
    """
    allowed = show_size(cache.budget or 0)
    console.print(f"cached activations, at most {allowed} in memory per worker:")
    for network, plan in plans.items():
        for each in plan:
            line = f"  {each}" if len(plans) == 1 else f"  {network}, {each}"
            console.print(line, markup=False, highlight=False)
