"""Finished studies of any size, with counts that nobody measured: what is timed is the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement, Spent
from probe.metrics.counts import Counts
from probe.results.run_directory import describe, store_of
from probe.training.costs import Cost
from tests.scenarios.study.toy import measurement, named_plan

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
    """How large a study is: tasks of `per_task` classes each, as many orders, runs with seeds."""

    learners: tuple[str, ...]
    tasks: int
    per_task: int
    seeds: int


def write_study(root: Path, shape: Shape) -> int:
    """Write every part of a study as its jobs would, and return how many there are."""
    raw = {
        "name": "made-up",
        "scenario": {"kind": "split", "data": "digits"},
        "network": {"name": "cnn3"},
        "learners": {name: {} for name in shape.learners},
        "seeds": shape.seeds,
        "report": {"heads": HEADS},
    }
    starts = range(0, shape.tasks * shape.per_task, shape.per_task)
    tasks = tuple((f"task {k}", tuple(range(k, k + shape.per_task))) for k in starts)
    plan = named_plan(raw, tasks)
    tables = _tables(shape.tasks * shape.per_task)
    describe(root, plan)
    written = 0
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        for part in parts_of(plan, job):
            store.write(part, _measured(part, tables[7 * written % _POOL]))
            written += 1
    return written


def _tables(classes: int) -> list[Counts]:
    """Return tables of 100 test examples a class, most of them in few cells."""
    draw = np.random.default_rng(0)
    spread = np.full(classes, 0.1)
    return [Counts(draw.multinomial(100, draw.dirichlet(spread, classes))) for _ in range(_POOL)]


def _measured(part: str, table: Counts) -> Measurement:
    is_step = part.startswith("step-")
    counts = dict.fromkeys(HEADS if is_step else HEADS[:1], (table,))
    learned = is_step and part != "step-0"
    return measurement(counts=counts, spent=Spent(cost=_COST, seconds=0.5) if learned else None)
