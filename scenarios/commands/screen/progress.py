"""Output of `probe run` before and while it runs: the plan, a bar with the time left, failed jobs.

It follows the events of `scenarios.execution.schedule`, wherever the jobs run. The bar
counts effort, not measurements, as one retraining takes as long as all tasks together.
`--dry-run` shows only the plan: jobs, training steps and memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich import progress as bars

from probe.by_layer.jobs import Job, jobs_of, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.files import discard, make_folder, replacing
from probe.memory import show_size
from probe.results.run_directory import FAILURES, failure_file
from probe.stored_names import OUTPUT
from probe.tables.sheets import Sheet
from probe.values.allocation import Allocation
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line
from scenarios.execution.pace import effort, pace_of, seconds_left, shown_time
from scenarios.execution.work import Ended, Event, Work
from scenarios.study.plan import Sizes

# Where features' values are stored, by network.
Allocations = Mapping[str, Sequence[Allocation]]


def show_progress(work: Work, events: Iterable[Event | int]) -> list[Ended]:
    """Read `events` to their end, showing the progress; return the ends of the jobs.

    Args:
        work: The plan and its run directory.
        events: The events of `scenarios.execution.schedule.execute`, whose errors pass
            through after the bar is closed.

    Returns:
        How each job ended.
    """
    name = work.plan.name
    ends = list[Ended]()
    efforts: dict[tuple[Job, Key], float] = {}
    done: set[tuple[Job, Key]] = set()
    for job in jobs_of(work.plan):
        for key in keys_of(work.plan, job):
            efforts[job, key] = effort(job, key)
        done |= {(job, key) for key in work.finished(job)}
    with bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
    ) as progress:
        bar = progress.add_task(name, total=sum(efforts.values()), completed=0)
        # Set after the bar has begun: the time left is estimated only from this run.
        progress.update(bar, completed=sum(efforts[measured] for measured in done))
        for event in events:
            if isinstance(event, int):
                progress.update(
                    bar, description=f"{event} jobs left to other processes"
                )
            elif isinstance(event, Ended):
                ends.append(event)
            # A job finished by another process reports all measurements, also those
            # counted.
            elif event not in done:
                done.add(event)
                job, key = event
                latest = f"{job.name}: {key}"
                progress.update(bar, advance=efforts[event], description=latest)
        progress.update(bar, description=name)
    return ends


def show_ends(root: Path, ends: Sequence[Ended], remarks: Iterable[str]) -> bool:
    """Print remarks on the results, the failed jobs, and those that other processes are doing.

    The reason for each failure, with the traceback of an unforeseen error, is written
    to a file in `failures/`, which is removed once the job is finished.

    Args:
        root: The run directory.
        ends: The ends of the jobs.
        remarks: The sentences to print first.

    Returns:
        Whether no job failed.

    Raises:
        NotWritten: A file cannot be written.
    """
    for remark in remarks:
        show_line(remark)
    for end in ends:
        if end.how == "finished":
            discard(failure_file(root, end.job))
    # The folder stays as long as a file is in it.
    with suppress(OSError):
        (root / FAILURES).rmdir()
    locked = [end for end in ends if end.how == "locked"]
    failed = [end for end in ends if end.how == "failed"]
    for group, how in (
        (locked, "running in other processes: the last to finish writes the tables"),
        # Last, so that the end of the output names what needs attention.
        (failed, "failed; run the same command again to try again:"),
    ):
        if group:
            show_line(f"{len(group)} {'job' if len(group) == 1 else 'jobs'} {how}")
    for end in failed:
        show_line(f"  {end.job.name}: {end.reason}")
        path = failure_file(root, end.job)
        make_folder(path.parent)
        with replacing(path) as partial:
            partial.write_text(end.trace or end.reason, encoding="utf-8")
        if end.trace:
            show_line(f"    {path}")
    if failed and not locked:
        show_line("the tables contain only finished jobs: means are over fewer of them")
    return not failed


def show_allocations(allocations: Allocations, work: Work) -> None:
    """Print the location of each feature's activations while layers downstream are retrained.

    The network is named only if there are several.

    Args:
        allocations: The allocations by network.
        work: The work, with the memory of one worker.
    """
    if not allocations:
        return
    show_line(
        f"cached activations, at most {show_size(work.cache.budget or 0)} in memory per "
        "worker:"
    )
    for network, of_network in allocations.items():
        for allocation in of_network:
            where = "" if len(allocations) == 1 else f"{network}, "
            show_line(f"  {where}{allocation}")


def show_dry_run(
    work: Work, sizes: Sizes, allocations: Allocations, processes: int
) -> None:
    """Print the jobs with their training steps, the plan of cached activations and the time.

    The time is known only once a measurement of the study is finished.

    Args:
        work: The plan and its run directory.
        sizes: The numbers of training and test examples of each task.
        allocations: The allocations of cached activations, if they are known.
        processes: The largest number of jobs in parallel.
    """
    plan = work.plan
    jobs = jobs_of(work.plan)
    processes = min(processes, len(jobs))
    keys_left = {job: work.keys_left(job) for job in jobs}
    show_sheet(_jobs_sheet(plan, sizes, keys_left))
    show_allocations(allocations, work)
    seconds = seconds_left(keys_left, pace_of(plan, work.root, jobs), processes)
    time = "unknown: `probe status` estimates it once a measurement is finished"
    if seconds is not None:
        time = (
            f"about {shown_time(seconds)} at {processes} jobs in parallel (an estimate)"
        )
    if not any(keys_left.values()):
        time = "none, as all is finished"
    show_line(f"time: {time}")
    show_line("a dry run: nothing was written")


def _jobs_sheet(
    plan: Plan, sizes: Sizes, keys_left: Mapping[Job, Sequence[Key]]
) -> Sheet:
    """Return a line for each learner: its jobs, those finished, and what is left to do."""
    columns = ["method", "jobs", "finished", "left"]
    columns += ["measurements left", "training steps left"]
    lines = []
    for learner in dict.fromkeys(job.learner for job in keys_left):
        jobs = [job for job in keys_left if job.learner == learner]
        jobs_left = [job for job in jobs if keys_left[job]]
        n_keys = sum(len(keys_left[job]) for job in jobs)
        steps = f"{sum(_steps(plan, sizes, job, keys_left[job]) for job in jobs):,}"
        # It trains its own network by its own rule, which no recipe describes.
        if jobs_left and jobs[0].own_network:
            steps = "unknown"
        n_finished = len(jobs) - len(jobs_left)
        numbers = (len(jobs), n_finished, len(jobs_left), n_keys)
        lines.append((learner, *map(str, numbers), steps))
    return Sheet(title=f"{plan.name}: jobs to do", columns=columns, lines=lines)


def _steps(plan: Plan, all_sizes: Sizes, job: Job, keys: Sequence[Key]) -> int:
    """Return the number of optimizer steps that a job still needs, by the recipes of the plan.

    The sizes are in base order; the keys are those of the remaining measurements. All
    multiples of a retraining share one training.
    """
    sizes = [all_sizes[task][0] for task in job.tasks]
    recipe = plan.learners[job.learner].training
    retraining = plan.retraining
    learned = [
        size for position, size in enumerate(sizes, 1) if position != job.without
    ]
    steps = 0
    # The numbers of tasks learned whose network is still to be trained.
    trained = [
        key.tasks_seen for key in keys if key.tasks_seen and key.readout == OUTPUT
    ]
    if job.without and job.last in trained:
        # With a task left out, only the last network is evaluated.
        trained = [*range(1, job.last)]
    for n_learned in () if job.weights else trained:
        # Such learners train on all tasks so far, others only on the latest.
        on_all = job.offline or job.kind == "cumulative"
        start = 0 if on_all else n_learned - 1
        steps += recipe.steps(sum(learned[start:n_learned]))
    longest = Counter[tuple[int, str, bool]]()
    for key in keys:
        if key.readout.is_retraining:
            training = key.tasks_seen, key.feature, key.readout.reestimates
            longest[training] = max(longest[training], key.readout.budget)
    return steps + sum(longest.values()) * retraining.steps(sum(sizes))
