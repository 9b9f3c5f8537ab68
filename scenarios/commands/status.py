"""`probe status`: the progress of a study, without changing anything.

It works while the study runs, from any machine that sees the run directory. Neither the
study's file nor its data are needed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from probe.by_layer.fingerprint import Record
from probe.by_layer.jobs import Job, keys_of
from probe.locks import is_locked
from probe.results.run_directory import (
    JobState,
    failure,
    read_plan,
    remarks,
    store_of,
    survey,
)
from probe.tables.sheets import Sheet
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import print_json, show_line
from scenarios.execution.pace import pace_of, seconds_left, shown_time

# States of a job: finished; locked by a process; failed at the last attempt; not
# running.
STATES = ("finished", "running", "failed", "left")


def show_status(root: Path, as_json: bool = False) -> None:
    """Print the progress of each learner, the running jobs, corrupt files, and the time left.

    Only intact measurements count. Nothing is written: a corrupt file is named and not
    touched.

    Args:
        root: The run directory.
        as_json: Whether to print one JSON object.

    Raises:
        InputError: The directory holds no study.
    """
    status = status_of(root)
    if as_json:
        print_json(status)
        return
    title = f"{status['study']}: jobs and finished measurements"
    keys = ("learner", "jobs", *STATES, "measurements_finished", "measurements")
    # The values of a learner under these keys, as texts.
    lines = [list(map(str, map(row.get, keys))) for row in status["learners"]]
    columns = (*keys[:-2], "measurements", "of")
    show_sheet(Sheet(title=title, columns=columns, lines=lines))
    remedy = "a corrupt file; `probe run` sets it aside and computes it again"
    for line in _time_left(status):
        show_line(line)
    for file in status["corrupt"]:
        show_line(f"{file['job']}, {file['file']}: {remedy}")
    for job in status["running"]:
        show_line(f"{job} is running in another process")
    for end in status["failed"]:
        show_line(f"{end['job']} failed: {end['reason']}")
    for remark in status["remarks"]:
        show_line(remark)


def status_of(root: Path) -> Record:
    """Return the progress of a study as JSON values; docs/tables.md lists the keys.

    It is read only from the run directory, and nothing is changed there. The time left
    is for the processes at work, or for a single one if none is; None if it is unknown.
    """
    plan = read_plan(root)
    states = survey(plan, root, checkpoints=True)
    state_of_job = {state.job: _state(root, state) for state in states}
    remaining = {}
    running = []
    failed = []
    for job, present in state_of_job.items():
        if present != "finished":
            finished = store_of(plan, root, job).finished()
            remaining[job] = [key for key in keys_of(plan, job) if key not in finished]
        if present == "running":
            running.append(job.name)
        if present == "failed":
            failed.append({"job": job.name, "reason": failure(root, job)})
    corrupt = []
    for state in states:
        corrupt += [{"job": state.job.name, "file": file} for file in state.corrupt]
    # The pace reads all results once more.
    pace = pace_of(plan, root, state_of_job) if remaining else {}
    return {
        "study": plan.name,
        "directory": str(root),
        "learners": _by_learner(states, state_of_job),
        "running": running,
        "failed": failed,
        "corrupt": corrupt,
        "processes": len(running),
        "seconds_left": seconds_left(remaining, pace, len(running)),
        "remarks": list(remarks(root, states)),
    }


def _by_learner(
    states: Sequence[JobState], state_of_job: Mapping[Job, str]
) -> list[Record]:
    """Return the numbers of jobs and measurements of each learner."""
    counts = ("jobs", *STATES, "measurements", "measurements_finished")
    learners: dict[str, Record] = {}
    for state in states:
        name = state.job.learner
        nothing = {"learner": name, **dict.fromkeys(counts, 0)}
        row = learners.setdefault(name, nothing)
        row["jobs"] += 1
        row[state_of_job[state.job]] += 1
        row["measurements"] += state.measurements
        row["measurements_finished"] += state.done
    return list(learners.values())


def _state(root: Path, state: JobState) -> str:
    """Return the state of a job, one of `STATES`."""
    if state.done == state.measurements:
        return "finished"
    if is_locked(root / "jobs" / state.job.name):
        return "running"
    return "failed" if failure(root, state.job) else "left"


def _time_left(status: Record) -> list[str]:
    """Return a sentence on the time left; no sentence if all is finished."""
    if all(row["finished"] == row["jobs"] for row in status["learners"]):
        return []
    if status["seconds_left"] is None:
        return ["time left: unknown until more measurements are finished"]
    rate = "the rate so far, by one process"
    if status["processes"]:
        rate = "the present rate"
    time = shown_time(status["seconds_left"])
    return [f"time left: about {time} at {rate} (an estimate)"]
