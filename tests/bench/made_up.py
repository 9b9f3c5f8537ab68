"""Finished studies of any size, with counts that nobody measured: what is timed is the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scenarios.study.identity import Identity

from probe.metrics.counts import Counts
from probe.training.costs import Cost
from scenarios.study.job import jobs_of, parts_of
from scenarios.study.source import check_study
from scenarios.study.store import Measurement, Spent, Store

HEADS = ("single", "multi", "all")
_POOL = 40  # tables of counts that the parts take turns with: to draw them takes longest
_COST = Cost(
    parameter_bytes=100,
    carried_bytes=20,
    stored_bytes=30,
    train_bytes=100,
    ops_one_pass=10,
    ops=50,
    kept_bytes=150,
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large a study is: tasks of `per_task` classes each, as many orders, runs with seeds.

    alike: whether all tasks have the same classes, as permutations of one data set have.
    """

    learners: tuple[str, ...]
    tasks: int
    per_task: int
    seeds: int
    alike: bool = False

    @property
    def classes(self) -> tuple[range, ...]:
        """The classes of each task."""
        starts = (0 if self.alike else k * self.per_task for k in range(self.tasks))
        return tuple(range(start, start + self.per_task) for start in starts)


def write_study(root: Path, shape: Shape) -> int:
    """Write every part of a study as its jobs would, and return how many there are."""
    raw = {
        "name": "made-up",
        "scenario": {"kind": "permutation" if shape.alike else "split", "data": "digits"},
        "network": {"name": "cnn3"},
        "learners": {name: {} for name in shape.learners},
        "seeds": shape.seeds,
        "report": {"heads": HEADS},
    }
    tasks = tuple((f"task {k}", tuple(own)) for k, own in enumerate(shape.classes, 1))
    study = check_study(raw, "made-up")
    return write_parts(root, Identity(study=study, tasks=tasks, data="", device="cpu", torch=""))


def write_parts(root: Path, identity: Identity) -> int:
    """Write every part of the study of that identity, and return how many there are."""
    classes, tasks = max(max(own) for _, own in identity.tasks) + 1, len(identity.tasks)
    alike, tables = identity.study.scenario.kind == "permutation", _tables(classes)
    identity.claim(root)
    written = 0
    for job in jobs_of(identity.study, tasks):
        store = Store(root, identity.of(job))
        for part in parts_of(identity.study, job):
            each = [tables[(7 * written + k) % _POOL] for k in range(tasks)]
            store.write(job.name, part, _measured(part, each if alike else each[:1]))
            written += 1
    return written


def _tables(classes: int) -> list[Counts]:
    """Return tables of 100 test examples a class, most of them in few cells."""
    draw = np.random.default_rng(0)
    spread = np.full(classes, 0.1)
    return [Counts(draw.multinomial(100, draw.dirichlet(spread, classes))) for _ in range(_POOL)]


def _measured(part: str, tables: list[Counts]) -> Measurement:
    is_step = part.startswith("step-")
    counts = dict.fromkeys(HEADS if is_step else HEADS[:1], tuple(tables))
    learned = is_step and part != "step-0"
    return Measurement(counts=counts, spent=Spent(cost=_COST, seconds=0.5) if learned else None)
