"""The plan that `--dry-run` shows: jobs, training steps and memory; nothing is written."""

from collections.abc import Mapping, Sequence
from math import ceil

from rich.console import Console

from probe.by_layer.jobs import Job, is_retraining, readings_of
from probe.by_layer.plan import Plan
from probe.tables.sheets import Sheet
from probe.values.allocation import Allocation
from scenarios.commands.screen.progress import show_plan
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line
from scenarios.execution.time_left import pace_of, seconds_left, shown_duration
from scenarios.execution.work import Work


def show_dry_run(
    console: Console,
    work: Work,
    sizes: Sequence[int],
    plans: Mapping[str, Sequence[Allocation]],
    jobs: Sequence[Job],
    processes: int,
) -> None:
    """Print the jobs with their training steps, the plan of cached activations and the time.

    The time is known only once a measurement of the study is finished.

    Args:
        console: To print to.
        work: The plan and its run directory.
        sizes: The numbers of training examples of each task.
        plans: The allocations of cached activations, if they are known.
        jobs: All jobs, finished ones included.
        processes: The most jobs in parallel.
    """
    plan, processes = work.plan, min(processes, len(jobs))
    parts_left = {job: work.parts_left(job) for job in jobs}
    columns = ("learner", "jobs", "finished", "left", "parts left", "training steps left")
    lines = []
    for learner in dict.fromkeys(job.learner for job in jobs):
        parts_of_job = {j: parts for j, parts in parts_left.items() if j.learner == learner}
        jobs_left, n_jobs = sum(map(bool, parts_of_job.values())), len(parts_of_job)
        steps = sum(_steps(plan, sizes, job, parts) for job, parts in parts_of_job.items())
        numbers = n_jobs, n_jobs - jobs_left, jobs_left, sum(map(len, parts_of_job.values()))
        # It trains its own network by its own rule, which no recipe describes.
        unknown = jobs_left and next(iter(parts_of_job)).own_network
        shown = "unknown" if unknown else f"{steps:,}"
        lines.append((learner, *map(str, numbers), shown))
    show_sheet(console, Sheet(title=f"{plan.name}: jobs to do", columns=columns, lines=lines))
    if plans:
        show_plan(console, plans, work.cache)
    seconds = seconds_left(parts_left, pace_of(plan, work.root, jobs), processes)
    if not any(parts_left.values()):
        time = "none, as all is finished"
    elif seconds is None:
        time = "unknown: `probe status` estimates it once two parts of a job are finished"
    else:
        time = f"about {shown_duration(seconds)} at {processes} jobs in parallel (an estimate)"
    for line in (f"time: {time}", "a dry run: nothing was written"):
        show_line(console, line)


def _steps(plan: Plan, all_sizes: Sequence[int], job: Job, parts: Sequence[str]) -> int:
    """Return the optimizer steps left of a job, by the recipes of the plan.

    all_sizes: the number of training examples of each task, in base order; parts: the measurements
    left. All multiples of a share one training.
    """
    sizes = [all_sizes[task] for task in job.tasks]
    recipe, retraining = plan.learners[job.learner].training, plan.retraining
    learned = [n for task_position, n in enumerate(sizes, 1) if task_position != job.without]
    steps, trained = 0, parts
    if job.without and f"step-{job.last}" in parts:
        # Its last evaluation is its only one.
        trained = [f"step-{i}" for i in range(1, job.last)]
    for part in trained:
        if part.startswith("step-") and part != "step-0" and not job.given:
            i = int(part.removeprefix("step-"))
            start = 0 if job.offline or job.kind == "cumulative" else i - 1
            steps += recipe.epochs * ceil(sum(learned[start:i]) / recipe.batch_size)
    longest: dict[tuple[int, str, bool], int] = {}
    for reading in readings_of(plan, job):
        if reading.part in parts and is_retraining(reading.part):
            key = reading.tasks_seen, reading.feature, reading.reestimated
            longest[key] = max(longest.get(key, 0), reading.multiple)
    epoch = ceil(sum(sizes) / retraining.batch_size)
    return steps + sum(longest.values()) * retraining.epochs * epoch
