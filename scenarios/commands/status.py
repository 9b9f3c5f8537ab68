"""`probe status`: the progress of a study, without changing anything.

It works while the study runs, from any machine that sees the run directory. Neither the study's
file nor its data are needed.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from probe.by_layer.jobs import Job, parts_of
from probe.by_layer.plan import Plan
from probe.results.run_directory import JobState, failure, read_plan, remarks, store_of, survey
from scenarios.commands.screen.terminal import print_json, printable
from scenarios.execution.locks import is_locked
from scenarios.execution.remaining import pace_of, seconds_left, shown_duration

How = Literal["finished", "running", "failed", "left"]
HOWS: tuple[How, ...] = ("finished", "running", "failed", "left")
"""States of a job: finished; locked by a process; failed at the last attempt; not running."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a study.

    - states: of all jobs, see `survey`; hows: one of HOWS for each;
    - failures: the reasons of failed jobs, sentences by the job's name;
    - processes: the number at work; seconds: until they, or a single process if there is none, have
      finished; None if that is not known.
    """

    states: Sequence[JobState]
    hows: Mapping[Job, How]
    failures: Mapping[str, str]
    processes: int
    seconds: float | None


def show_status(root: Path, as_json: bool = False) -> None:
    """Print the progress of each learner, the running jobs, corrupt files, and the time left.

    root: the run directory; as_json: print one JSON object. Only intact measurements count. Nothing
    is written: a corrupt file is named and left alone. Raises InputError if the directory holds no
    study.
    """
    plan = read_plan(root)
    progress = progress_of(plan, root)
    said = list(remarks(root, progress.states))
    if as_json:
        print_json(_record(plan, root, progress, said))
    else:
        _show(plan, progress, said)


def progress_of(plan: Plan, root: Path) -> Progress:
    """Return the progress of a study from its run directory alone; changes nothing."""
    states = survey(plan, root)
    hows = {state.job: _how(root, state) for state in states}
    left = {job: _left(plan, root, job) for job, how in hows.items() if how != "finished"}
    processes = list(hows.values()).count("running")
    return Progress(
        states=states,
        hows=hows,
        failures={job.name: failure(root, job) for job, how in hows.items() if how == "failed"},
        processes=processes,
        seconds=seconds_left(left, pace_of(plan, root, hows), processes),
    )


def _how(root: Path, state: JobState) -> How:
    if state.done == state.parts:
        return "finished"
    if is_locked(root / "jobs" / state.job.name):
        return "running"
    return "failed" if failure(root, state.job) else "left"


def _left(plan: Plan, root: Path, job: Job) -> list[str]:
    """Return the measurements of a job without a file."""
    finished = store_of(plan, root, job).finished()
    return [part for part in parts_of(plan, job) if part not in finished]


def _by_learner(progress: Progress) -> dict[str, dict[str, int]]:
    """Count the jobs of each learner by their state, and its measurements."""
    own = defaultdict[str, list[JobState]](list)
    for state in progress.states:
        own[state.job.learner].append(state)
    found = {}
    for learner, states in own.items():
        count: Counter[str] = Counter(progress.hows[state.job] for state in states)
        found[learner] = {
            "jobs": len(states),
            **{str(how): count[how] for how in HOWS},
            "parts": sum(state.parts for state in states),
            "parts_finished": sum(state.done for state in states),
        }
    return found


def _record(plan: Plan, root: Path, progress: Progress, said: Sequence[str]) -> dict[str, Any]:
    """Return everything that is printed as JSON values; docs/studies.md lists the keys."""
    return {
        "study": plan.name,
        "directory": str(root),
        "learners": [{"learner": name, **row} for name, row in _by_learner(progress).items()],
        "running": [job.name for job, how in progress.hows.items() if how == "running"],
        "failed": [{"job": job, "reason": why} for job, why in progress.failures.items()],
        "corrupt": [
            {"job": state.job.name, "part": part}
            for state in progress.states
            for part in state.corrupt
        ],
        "processes": progress.processes,
        "seconds_left": progress.seconds,
        "remarks": list(said),
    }


def _show(plan: Plan, progress: Progress, said: Sequence[str]) -> None:
    """Print the progress of a study's jobs."""
    table = Table(title=f"{plan.name}: jobs and finished parts", title_justify="left")
    for column in ("learner", "jobs", *HOWS, "parts", "of"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for learner, row in _by_learner(progress).items():
        numbers = row["jobs"], *(row[how] for how in HOWS), row["parts_finished"], row["parts"]
        table.add_row(escape(printable(learner)), *map(str, numbers))
    console = Console()
    console.print(table)
    corrupt = [
        f"{state.job.name}, {part}: a corrupt file; `probe run` sets it aside and computes it again"
        for state in progress.states
        for part in state.corrupt
    ]
    at_work = [
        f"{job.name} is being done by another process"
        for job, how in progress.hows.items()
        if how == "running"
    ]
    failed = [f"{job} failed: {why}" for job, why in progress.failures.items()]
    for line in (*_time_left(progress), *corrupt, *at_work, *failed, *said):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _time_left(progress: Progress) -> list[str]:
    """Return a sentence on the time left; none if all is finished."""
    if set(progress.hows.values()) == {"finished"}:
        return []
    if progress.seconds is None:
        return ["time left: unknown until more measurements are finished"]
    count = progress.processes
    by = "the present rate" if count else "the rate so far, by one process"
    return [f"time left: about {shown_duration(progress.seconds)} at {by} (an estimate)"]
