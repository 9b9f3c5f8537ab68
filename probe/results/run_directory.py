"""The run directory: a description of its plan, and the state of each job.

`study.json` holds the complete plan that the directory was last used for, so that
status, tables and figures need neither the user's files nor data. Every run replaces
it. Results are never refused or deleted because of it, as each job's folder holds the
record of its results.

A reader of tables must know of three things, and `remarks` gives a sentence on each:
results made by other code; results of other settings, data or versions, which are kept
aside and not shown; and corrupt files that were set aside and computed again.
"""

import json
from collections.abc import Iterator, Sequence
from os.path import isfile
from pathlib import Path

from probe.by_layer.code import code_hash
from probe.by_layer.fingerprint import RESULTS_VERSION, Record
from probe.by_layer.jobs import Job, jobs_of, keys_of
from probe.by_layer.plan import Plan
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.errors import InputError, unreadable
from probe.files import content_of, discard, sha256, write_text
from probe.immutable import immutable
from probe.locks import LOCK
from probe.tables.folder import hashes_of_tables

FAILURES = "failures"
"""The folder of a run directory with the reasons of failed jobs, until they are finished."""

PRECISION = "precision.txt"
"""The file of a run directory with the precision chosen for `auto`."""

_DESCRIPTION = "study.json"
# What a directory may hold before anything else: its lock, recorded networks, a precision.
_BEFORE = {"lock", "checkpoints", PRECISION}


def refuse_foreign(root: Path) -> None:
    """Check that a folder holds nothing but a study of this version.

    This keeps `--out` from mixing a study with other files. An empty or missing folder
    is allowed.

    Args:
        root: The folder.

    Raises:
        InputError: The folder has anything else.
    """
    try:
        entries = {path.name for path in root.iterdir() if path.suffix != ".tmp"}
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(
            f"cannot use {root} ({error.strerror}): choose another --out"
        ) from None
    # With these entries only, a run has just begun, or was killed then. A folder with
    # jobs is a study even without its description.
    if entries - _BEFORE and not entries & {_DESCRIPTION, "jobs"}:
        raise InputError(
            f"{root} is not empty and holds no study: choose another --out"
        )
    _refuse_older(root)


def is_run_directory(root: Path) -> bool:
    """Return whether a folder has the description of a study."""
    return isfile(root / _DESCRIPTION)


def describe(root: Path, plan: Plan, tables: str | None = None) -> None:
    """Write the plan that a run directory is used for.

    Args:
        root: The run directory.
        plan: The plan.
        tables: A hash of the results in its tables, see `results_hash`; None =
            unchanged tables, "" = tables that are being written, which have no hashes
            meanwhile.

    Raises:
        NotWritten: The description cannot be written.
    """
    hashes = hashes_of_tables(root) if tables else {}
    if tables is None:
        earlier = _description(root)
        tables = earlier.get("tables", "")
        hashes = earlier.get("hashes", {})
    record = {
        "version": RESULTS_VERSION,
        "plan": plan.model_dump(mode="json"),
        "tables": tables,
        "hashes": hashes,
    }
    write_text(root / _DESCRIPTION, json.dumps(record, indent=1))


def next_of(root: Path) -> str:
    """Return the command to suggest when a run has ended, empty if there is none.

    Args:
        root: The run directory, or the folder of a saved result.
    """
    return read_plan(root).next if is_run_directory(root) else ""


def read_plan(root: Path) -> Plan:
    """Read the plan that a run directory was last used for.

    Args:
        root: The run directory.

    Returns:
        The plan.

    Raises:
        InputError: There is no plan, it is from an earlier version, or its file is
            corrupt.
    """
    path = root / _DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{root} holds no study (no {_DESCRIPTION}): give one of a `probe run`"
        )
    _refuse_older(root)
    try:
        # Checked like a user's file: it may have been edited.
        return Plan.model_validate(json.loads(path.read_bytes())["plan"])
    except OSError as error:
        raise unreadable(
            path, error, "allow reading, or start its `probe run` again"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is corrupt, or from an earlier version: start its `probe run` "
            "again, or the call that made it, to write a new one"
        ) from None


def store_of(plan: Plan, root: Path, job: Job) -> Store:
    """Return the store of a job's results, under its fingerprint.

    Args:
        plan: The plan.
        root: The run directory.
        job: A job of the plan.

    Returns:
        The store.
    """
    record = plan.record(
        job.learner,
        job.order,
        job.tasks,
        job.seed,
        job.without,
    )
    return Store(
        root,
        job.name,
        record,
        code_hash(plan.learners[job.learner].modules),
    )


def failure_file(root: Path, job: Job) -> Path:
    """Return the file with the reason of a job's failure: a sentence or a traceback.

    Args:
        root: The run directory.
        job: The job.

    Returns:
        The file.
    """
    return root / FAILURES / f"{job.name}.txt"


def failure(root: Path, job: Job) -> str:
    """Return the reason for a job's last failure in one line.

    Args:
        root: The run directory.
        job: The job.

    Returns:
        The line, "" if there is none.
    """
    try:
        lines = (
            content_of(failure_file(root, job)).decode("utf-8", "replace").split("\n")
        )
    except OSError:
        return ""
    # A traceback ends in the exception.
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@immutable
class JobState:
    """The progress of a job.

    Attributes:
        job: The job.
        measurements: The number of the job's measurements.
        done: The number of finished measurements.
        corrupt: The names of corrupt files.
        results: A hash of the keys of finished measurements, their fingerprint and
            code.
        other_code: Whether any result was made by code other than today's.
        unused: The readouts, and other measurements, that the plan no longer has.
        others: The differences from the job's results under other fingerprints, see
            `probe.by_layer.fingerprint.differences`.
    """

    job: Job
    measurements: int
    done: int
    corrupt: tuple[str, ...]
    results: str
    other_code: bool
    unused: tuple[str, ...]
    others: tuple[str, ...]


def survey(plan: Plan, root: Path, *, checkpoints: bool = False) -> list[JobState]:
    """Return the progress of each job of a study, in the order of `jobs_of`; changes nothing.

    Every result is read and checked, so for a large study it takes some seconds.

    Args:
        plan: The plan of the study.
        root: The run directory.
        checkpoints: Whether to read checkpoints as well.
    """
    states = []
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        keys = keys_of(plan, job)
        measurements, corrupt, codes = store.contents(checkpoints=checkpoints)
        finished = sorted(measurements.keys() & set(keys))
        names = [key.stored for key in finished]
        asked = {key.readout.listed for key in keys}
        results = f"{job.name} {store.folder.name} {names} {sorted(codes)}"
        states.append(
            JobState(
                job=job,
                measurements=len(keys),
                done=len(finished),
                corrupt=tuple(sorted(corrupt)),
                results=sha256(results),
                other_code=not codes <= {store.code},
                unused=tuple({key.readout.listed for key in measurements} - asked),
                others=tuple(store.others()),
            )
        )
    return states


def remove_locks(root: Path, states: Sequence[JobState]) -> None:
    """Remove the locks of finished jobs, as no process needs to wait for these jobs.

    Args:
        root: The run directory.
        states: The states of its jobs.
    """
    for state in states:
        if state.done == state.measurements:
            discard(root / "jobs" / state.job.name / LOCK)


def results_hash(states: Sequence[JobState]) -> str:
    """Return a hash of all present results of a study, to tell whether its tables are current."""
    return sha256(" ".join(state.results for state in states))


def older_tables(root: Path, states: Sequence[JobState]) -> str:
    """Return a sentence if the tables do not show the present results.

    Tables are outdated during a run with other settings, code or data.

    Args:
        root: The run directory.
        states: The states of its jobs.

    Returns:
        The sentence, or "".
    """
    if _description(root).get("tables") == results_hash(states):
        return ""
    return (
        "these tables are outdated: they show earlier results, perhaps of other "
        "settings, data or code; `probe run` writes them again when it ends"
    )


def remarks(root: Path, states: Sequence[JobState]) -> Iterator[str]:
    """Yield remarks on a study's results for a reader of its tables, a sentence each.

    Each difference is named once, however many jobs it concerns.

    Args:
        root: The run directory.
        states: The states of all jobs, see `survey`.
    """
    # Only results that are shown; those kept aside follow below.
    if changed := [state.job.name for state in states if state.other_code]:
        yield (
            f"the results of {_jobs(changed)} of {len(states)} were made by code "
            f"other than today's ({changed[0]}{', ...' if changed[1:] else ''}): "
            "`probe run` with --recompute changed repeats them"
        )
    if aside := [state for state in states if state.others]:
        reasons = "; ".join(
            dict.fromkeys(reason for state in aside for reason in state.others)
        )
        yield f"other results of {_jobs(aside)} are kept but not shown: {reasons}"
    if unused := sorted({name for state in states for name in state.unused}):
        what = (
            f"results of {', '.join(unused)} from an earlier run are kept, but in no "
            "table"
        )
        yield f"{what}: ask for them and the present readouts together"
    yield from quarantine_notes(root)


def _jobs(jobs: Sequence[object]) -> str:
    return f"{len(jobs)} job{'s' * (len(jobs) > 1)}"


def _description(root: Path) -> Record:
    """Return the unchecked description of a study, empty if it cannot be read."""
    try:
        record = json.loads(content_of(root / _DESCRIPTION))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _refuse_older(root: Path) -> None:
    """Raise InputError for a study of an earlier version, whose results are stored differently."""
    if "format" in _description(root):
        raise InputError(
            f"{root} is from an earlier version: run its study with another --out"
        )
