"""How far a study is: what `probe status` does, without changing anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scenarios.execution.claims import Claims
from scenarios.study.identity import Identity, read_identity
from scenarios.study.job import Job, jobs_of, parts_of
from scenarios.study.quarantine import notes
from scenarios.study.sealing import refuse_links
from scenarios.study.store import Store
from scenarios.terminal import printable


def show_status(root: Path) -> None:
    """Print how many parts of each learner are finished, who is at work, what was set aside.

    Only parts that can be trusted count. Nothing is written.
    """
    refuse_links(root)
    identity = read_identity(root)
    states = defaultdict[str, list[_State]](list)
    for job in jobs_of(identity.study, len(identity.tasks)):
        states[job.learner].append(_state(root, identity, job))
    table = Table(title=f"{identity.study.name}: finished parts", title_justify="left")
    for column in ("learner", "jobs", "parts", "of"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for learner, own in states.items():
        numbers = len(own), sum(s.done for s in own), sum(s.parts for s in own)
        table.add_row(escape(printable(learner)), *map(str, numbers))
    console = Console()
    console.print(table)
    damaged = [line for own in states.values() for state in own for line in state.damaged]
    for line in (*damaged, *_at_work(root), *notes(root)):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class _State:
    """How far a job is. parts: how many it has; damaged: a sentence for each that is."""

    parts: int
    done: int
    damaged: tuple[str, ...]


def _state(root: Path, identity: Identity, job: Job) -> _State:
    store, parts = Store(root, identity.of(job)), parts_of(identity.study, job)
    there = store.finished(job.name)
    written = [part for part in parts if part in there]
    damaged = [part for part in written if not store.holds(job.name, part)]
    sentence = "cannot be trusted: `probe run` sets it aside and computes it anew"
    return _State(
        parts=len(parts),
        done=len(written) - len(damaged),
        damaged=tuple(f"{job.name}, {part}: {sentence}" for part in damaged),
    )


def _at_work(root: Path) -> Iterator[str]:
    """Yield a line for every lock that is held; of another machine's nobody knows more."""
    for lock in Claims(root / "locks").all_seen():
        if not lock.dead:
            yield f"{lock.name} is being done by {lock.holder}"
