"""What a run directory says of itself: the description of its study, and how far each job is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.errors import InputError
from probe.files import replacing
from scenarios.study.code import code_hash
from scenarios.study.fingerprint import RESULTS_VERSION, Setup
from scenarios.study.jobs import Job, jobs_of, parts_of
from scenarios.study.spec import Study
from scenarios.study.store import Store, quarantine_notes

_DESCRIPTION = "study.json"
_LOCK = "lock"  # of whoever uses the directory; there before anything else is
_FREE = {"name", "report"}  # what of a study can change no measurement


def refuse_foreign(root: Path) -> None:
    """Raise InputError for a folder that holds something, but no study of this version."""
    try:
        entries = {path.name for path in root.iterdir() if path.suffix != ".tmp"}
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use {root} ({error.strerror}): choose another --out") from None
    if entries - {_LOCK} and not entries & {_DESCRIPTION, "jobs"}:
        raise InputError(f"{root} is not empty and holds no study: choose another --out")
    if "format" in _described(root):
        raise InputError(
            f"{root} was written by an earlier version of forgetting-probe: choose another --out"
        )


def describe(root: Path, setup: Setup) -> None:
    """Write down which study a run directory is used for; raises NotWritten if it cannot be."""
    record = {
        **setup.study.model_dump(mode="json", include=_FREE),
        "version": RESULTS_VERSION,
        "study": setup.study.model_dump(mode="json", exclude=_FREE),
        "tasks": [{"name": name, "classes": list(classes)} for name, classes in setup.tasks],
        "data": setup.data,
        "device": setup.device,
        "torch": setup.torch,
    }
    with replacing(root / _DESCRIPTION) as partial:
        partial.write_text(json.dumps(record, indent=1), encoding="utf-8")


def read_setup(root: Path) -> Setup:
    """Read back which study a run directory was last used for; raises InputError without one."""
    path = root / _DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{root} holds no study (no {_DESCRIPTION}): name the directory of a `probe run`"
        )
    try:
        record = json.loads(path.read_bytes())
        return Setup(
            study=Study.model_validate({**{k: record[k] for k in _FREE}, **record["study"]}),
            tasks=tuple((task["name"], tuple(task["classes"])) for task in record["tasks"]),
            data=record["data"],
            device=record["device"],
            torch=record["torch"],
        )
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): allow reading, or start its `probe run` again"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is corrupt: start its `probe run` again, which writes it anew"
        ) from None


def store_of(setup: Setup, root: Path, job: Job) -> Store:
    """Return where the results of a job are."""
    return Store(root, job.name, setup.record(job), code_hash(job.kind))


@dataclass(frozen=True, kw_only=True)
class JobState:
    """How far a job is.

    parts, done: how many it has, and how many are finished; corrupt: the names of those that are
    there but not as they were written; other_code: whether a result was made by other code than
    today's; others: how its results of other fingerprints differ, a sentence each.
    """

    job: Job
    parts: int
    done: int
    corrupt: tuple[str, ...]
    other_code: bool
    others: tuple[str, ...]


def survey(setup: Setup, root: Path) -> list[JobState]:
    """Return how far each job of a study is; changes nothing."""
    return [_state(setup, root, job) for job in jobs_of(setup.study, len(setup.tasks))]


def remarks(root: Path, states: Sequence[JobState]) -> Iterator[str]:
    """Yield what a reader of a study's tables must know of their results, a sentence each."""
    changed = [state.job.name for state in states if state.other_code]
    if changed:
        yield (
            f"{_jobs(len(changed))} of {len(states)} made by other code than today's "
            f"({changed[0]}{', ...' if changed[1:] else ''}): `probe run` with --recompute changed "
            f"does them again"
        )
    others = Counter(difference for state in states for difference in state.others)
    for difference, count in others.items():
        yield f"{_jobs(count)} kept aside and not shown here: {difference}"
    yield from quarantine_notes(root)


def _state(setup: Setup, root: Path, job: Job) -> JobState:
    store, parts = store_of(setup, root, job), parts_of(setup.study, job)
    there = store.finished()
    written = [part for part in parts if part in there]
    corrupt = tuple(part for part in written if not store.holds(part))
    return JobState(
        job=job,
        parts=len(parts),
        done=len(written) - len(corrupt),
        corrupt=corrupt,
        other_code=store.made_by_other_code(),
        others=tuple(store.others()),
    )


def _jobs(count: int) -> str:
    return f"the results of {'1 job' if count == 1 else f'{count} jobs'}"


def _described(root: Path) -> dict[str, Any]:
    try:
        record = json.loads((root / _DESCRIPTION).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
