"""The plan that `--dry-run` shows: jobs, training steps and memory; nothing is written."""

from collections.abc import Mapping, Sequence
from math import ceil

from rich.console import Console

from probe.by_layer.jobs import Job, is_retraining
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.tables.sheets import Sheet
from probe.values.allocation import Allocation
from scenarios.commands.screen.progress import show_plan
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line
from scenarios.execution.remaining import pace_of, seconds_left, shown_duration
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

    sizes: the numbers of training examples of each task; plans: the allocations of cached
    activations, if they are known; processes: the number of jobs in parallel. The time is known
    only once a measurement of the study is finished.
    """
    plan = work.plan
    left = {job: work.keys_left(job) for job in jobs}
    columns = ("learner", "jobs", "finished", "left", "measurements left", "training steps left")
    lines = []
    for learner in dict.fromkeys(job.learner for job in jobs):
        own = {job: keys for job, keys in left.items() if job.learner == learner}
        begun = sum(map(bool, own.values()))
        steps = sum(_steps(plan, sizes, job, keys) for job, keys in own.items())
        numbers = len(own), len(own) - begun, begun, sum(map(len, own.values()))
        # It trains its own network by its own rule, which no recipe describes.
        unknown = begun and next(iter(own)).own_network
        shown = "unknown" if unknown else f"{steps:,}"
        lines.append((learner, *map(str, numbers), shown))
    show_sheet(console, Sheet(title=f"{plan.name}: jobs to do", columns=columns, lines=lines))
    if plans:
        show_plan(console, plans, work.cache)
    seconds = seconds_left(left, pace_of(plan, work.root, jobs), processes)
    if not any(left.values()):
        time = "none, as all is finished"
    elif seconds is None:
        time = "unknown: `probe status` estimates it once a measurement is finished"
    else:
        time = f"about {shown_duration(seconds)} at {processes} jobs in parallel (an estimate)"
    for line in (f"time: {time}", "a dry run: nothing was written"):
        show_line(console, line)


def _steps(plan: Plan, every: Sequence[int], job: Job, left: Sequence[Key]) -> int:
    """Return the optimizer steps left of a job, by the recipes of the plan.

    every: the number of training examples of each task, in base order. All multiples of a
    retraining share one training.
    """
    sizes = [every[task] for task in job.tasks]
    recipe, retraining = plan.learners[job.learner].training, plan.retraining
    learned = [n for task_position, n in enumerate(sizes, 1) if task_position != job.without]
    steps, trained = 0, [key.tasks_seen for key in left if not key.feature]
    if job.without and job.last in trained:
        # Its last evaluation is its only one.
        trained = [*range(1, job.last)]
    for i in trained:
        if i and not job.provided:
            begin = 0 if job.offline or job.kind == "cumulative" else i - 1
            steps += recipe.epochs * ceil(sum(learned[begin:i]) / recipe.batch_size)
    longest: dict[tuple[int, str, bool], int] = {}
    for key in filter(is_retraining, left):
        training = key.tasks_seen, key.feature, key.reestimates
        longest[training] = max(longest.get(training, 0), key.epoch_multiple)
    epoch = ceil(sum(sizes) / retraining.batch_size)
    return steps + sum(longest.values()) * retraining.epochs * epoch
