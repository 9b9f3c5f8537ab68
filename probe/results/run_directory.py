"""The run directory: a description of its plan, and the state of each job.

`study.json` describes the plan that the directory was last used for, completely enough that status,
tables and figures need neither anybody's file nor data. It is replaced by every run; results are
never refused or deleted for it, as each job's own folder says what its results were made with.

A reader of tables has to know of three things, and `remarks` gives a sentence on each: results that
other code made; results of other settings, data or versions, which lie aside and are not shown; and
corrupt files that were set aside and computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.by_layer.code import code_hash
from probe.by_layer.fingerprint import RESULTS_VERSION
from probe.by_layer.jobs import Job, jobs_of, parts_of
from probe.by_layer.plan import Plan
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.errors import InputError
from probe.files import replacing

FAILURES = "failures"
"""The folder of a run directory that says why jobs failed, until they are finished."""

_DESCRIPTION = "study.json"
# Of whoever uses the directory, and networks that are given: there before anything else is.
_BEFORE = {"lock", "checkpoints"}


def refuse_foreign(root: Path) -> None:
    """Raise InputError for a folder that holds something, but no study of this version.

    A folder that is empty, or that does not exist yet, is fine. So `--out` can never mix a study
    with somebody's other files.
    """
    try:
        entries = {path.name for path in root.iterdir() if path.suffix != ".tmp"}
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use {root} ({error.strerror}): choose another --out") from None
    # They alone are those of a run which has just begun, or was killed just then.
    # Where the description is lost, the jobs' results are still the study's.
    if entries - _BEFORE and not entries & {_DESCRIPTION, "jobs"}:
        raise InputError(f"{root} is not empty and holds no study: choose another --out")
    _refuse_older(root)


def describe(root: Path, plan: Plan, tables: str | None = None) -> None:
    """Write down the plan that a run directory is used for; raises NotWritten if it cannot be.

    tables: what its tables are made of now, see `made_of`; None = they are as they were.
    """
    record = {
        "version": RESULTS_VERSION,
        "plan": plan.model_dump(mode="json"),
        "tables": _tables_of(root) if tables is None else tables,
    }
    with replacing(root / _DESCRIPTION) as partial:
        partial.write_text(json.dumps(record, indent=1), encoding="utf-8")


def read_plan(root: Path) -> Plan:
    """Read back the plan that a run directory was last used for.

    Raises InputError without one, for one of an earlier version, and for a description that is
    corrupt.
    """
    path = root / _DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{root} holds no study (no {_DESCRIPTION}): name the directory of a `probe run`"
        )
    _refuse_older(root)
    try:
        # Checked as a user's file is: somebody may have edited it.
        return Plan.model_validate(json.loads(path.read_bytes())["plan"])
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): allow reading, or start its `probe run` again"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is corrupt, or of an earlier version: start its `probe run` again, which "
            f"writes it anew"
        ) from None


def store_of(plan: Plan, root: Path, job: Job) -> Store:
    """Return the results of a job, under the fingerprint that the plan gives it."""
    record = plan.record(job.learner, job.order, job.tasks, job.seed)
    return Store(root, job.name, record, code_hash(plan.learners[job.learner].modules))


def failure_file(root: Path, job: Job) -> Path:
    """Return the file that says why a job failed: a sentence, or the traceback of an error."""
    return root / FAILURES / f"{job.name}.txt"


def failure(root: Path, job: Job) -> str:
    """Return why a job failed when it was last tried, in a line; "" if it did not."""
    try:
        lines = failure_file(root, job).read_text("utf-8", "replace").split("\n")
    except OSError:
        return ""
    # A traceback ends in what was raised.
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@dataclass(frozen=True, kw_only=True)
class JobState:
    """How far a job is.

    parts, done: how many it has, and how many are finished; corrupt: the names of those that are
    there but not as they were written; results: a hash of which ones are finished, of what
    fingerprint and by what code; other_code: whether one was made by other code than today's;
    others: in what its results of other fingerprints differ, as sentences without a full stop (see
    `probe.by_layer.fingerprint.differences`).
    """

    job: Job
    parts: int
    done: int
    corrupt: tuple[str, ...]
    results: str
    other_code: bool
    others: tuple[str, ...]


def survey(plan: Plan, root: Path) -> list[JobState]:
    """Return how far each job of a study is, in the order of `jobs_of`; changes nothing.

    Every result is read and checked, so for a large study it takes some seconds.
    """
    return [_state(plan, root, job) for job in jobs_of(plan)]


def made_of(states: Sequence[JobState]) -> str:
    """Return a hash of all results of a study: of what tables that are made now are made of."""
    return hashlib.sha256(" ".join(state.results for state in states).encode()).hexdigest()


def older_tables(root: Path, states: Sequence[JobState]) -> str:
    """Return a sentence if the tables were not made of the results that are there now, else "".

    So it is from the moment in which a run of other settings, code or data begins until it ends.
    """
    if _tables_of(root) == made_of(states):
        return ""
    return (
        "these tables were not made of the results that are there now, but of earlier ones, "
        "perhaps of other settings, data or code: let `probe run` end, which makes them anew"
    )


def remarks(root: Path, states: Sequence[JobState]) -> Iterator[str]:
    """Yield what a reader of a study's tables must know of their results, a sentence each.

    root: the run directory; states: of all jobs, see `survey`. Nothing to know gives nothing. What
    differs is told once, however many jobs it concerns.
    """
    # Of results that are shown; those aside are told of below, whatever made them.
    changed = [state.job.name for state in states if state.other_code]
    if changed:
        yield (
            f"the results of {_jobs(len(changed))} of {len(states)} were made by other code than "
            f"today's ({changed[0]}{', ...' if changed[1:] else ''}): `probe run` with --recompute "
            f"changed does them again"
        )
    aside = [state for state in states if state.others]
    if aside:
        told = "; ".join(dict.fromkeys(each for state in aside for each in state.others))
        yield f"other results of {_jobs(len(aside))} are kept aside and not shown: {told}"
    yield from quarantine_notes(root)


def _state(plan: Plan, root: Path, job: Job) -> JobState:
    """Return how far a job is, after reading each of its files once."""
    store, parts = store_of(plan, root, job), parts_of(plan, job)
    contents = store.contents()
    finished = sorted(contents.finished & set(parts))
    results = f"{job.name} {store.folder.name} {finished} {sorted(contents.codes)}"
    return JobState(
        job=job,
        parts=len(parts),
        done=len(finished),
        corrupt=tuple(part for part in parts if part in contents.corrupt),
        results=hashlib.sha256(results.encode()).hexdigest(),
        other_code=store.made_by_other_code(contents),
        others=tuple(store.others()),
    )


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _tables_of(root: Path) -> str:
    """Return what the tables of a run directory were made of; "" if that is not known."""
    return str(_description(root).get("tables", ""))


def _description(root: Path) -> dict[str, Any]:
    """Return the description of a study as it is; nothing if it cannot be read."""
    try:
        record = json.loads((root / _DESCRIPTION).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _refuse_older(root: Path) -> None:
    """Raise InputError for a study of an earlier version, which has kept results otherwise."""
    if "format" in _description(root):
        raise InputError(
            f"{root} was written by an earlier version of forgetting-probe: run its study again "
            f"with another --out"
        )
