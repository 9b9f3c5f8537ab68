"""`--dry-run`: what a run would do, where features' values would live, and how long it would take.

Nothing is written, not even the run directory. The time is measured: by what the directory holds
already, if that is a part of this study, or else by doing some jobs on a few examples.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from probe.errors import InputError
from scenarios.commands.screen.progress import show_plan
from scenarios.commands.screen.terminal import printable
from scenarios.execution.rehearsal import LIMIT, Rehearsal
from scenarios.execution.remaining import Pace, pace_of, seconds_left, shown_duration
from scenarios.execution.work import Work
from scenarios.learners.catalog import LEARNERS
from probe.tasks import Scenario
from probe.by_layer.jobs import Job
from scenarios.study.preflight import cache_plans


def show_dry_run(
    console: Console, work: Work, scenario: Scenario, jobs: Sequence[Job], processes: int
) -> None:
    """Print the jobs, the plan of features' values and the time; writes nothing.

    scenario: the whole one; processes: how many would be at work.
    """
    left = {job: _left(work, job) for job in jobs}
    _show_jobs(console, work, left)
    # A machine that only drives those with GPUs knows nothing of their memory.
    if work.sharing is None and work.retraining_left(jobs):
        show_plan(console, cache_plans(work.setup.study, scenario, work.cache), work.cache)
    said = _time(work, scenario, left, processes)
    for line in (said, "a dry run: nothing was written"):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _left(work: Work, job: Job) -> list[str]:
    """Return the parts of a job that are to be done."""
    finished = work.finished(job)
    return [part for part in work.parts(job) if part not in finished]


def _show_jobs(console: Console, work: Work, left: Mapping[Job, Sequence[str]]) -> None:
    table = Table(title=f"{work.setup.study.name}: what would be done", title_justify="left")
    for column in ("learner", "jobs", "finished", "left", "parts left"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    by_learner = defaultdict[str, list[Sequence[str]]](list)
    for job, parts in left.items():
        by_learner[job.learner].append(parts)
    for learner, each in by_learner.items():
        begun = sum(map(bool, each))
        numbers = len(each), len(each) - begun, begun, sum(map(len, each))
        table.add_row(escape(printable(learner)), *map(str, numbers))
    console.print(table)


def _time(work: Work, scenario: Scenario, left: Mapping[Job, Sequence[str]], processes: int) -> str:
    """Return how long it would take, and how that was found, in a sentence."""
    to_do = {job: parts for job, parts in left.items() if parts}
    if not to_do:
        return "time: none, as all is finished"
    with_whom = "1 process" if processes == 1 else f"{processes} processes"
    pace, how = pace_of(work.setup, work.root, left), f"by what {work.root} holds already"
    besides = ""
    if not pace.parts:
        how = "by doing some jobs on a few examples of each task"
        own = {job.learner for job in to_do if LEARNERS[job.kind].own_features}
        to_do = {job: parts for job, parts in to_do.items() if job.learner not in own}
        besides = f", besides {', '.join(sorted(own))}, with a training of its own" if own else ""
        try:
            pace = _measured(work, scenario)
        except InputError as error:
            return f"time: unknown, as a job on a few examples failed ({error})"
    seconds = seconds_left(to_do, pace, processes)
    if not to_do or seconds is None:
        return f"time: unknown{besides}"
    return f"time: about {shown_duration(seconds)} with {with_whom}, estimated {how}{besides}"


def _measured(work: Work, scenario: Scenario) -> Pace:
    device = torch.device(work.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        return Pace()
    end = time.perf_counter() + LIMIT
    return Rehearsal(study=work.setup.study, scenario=scenario, device=device, end=end).pace()
