"""The tidy tables of a run directory, derived from its finished parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from probe.files import replacing
from probe.metrics.murata import pra
from probe.summary import summarise
from probe.table import (
    AnyRow,
    CostRow,
    LearnerRow,
    MetricRow,
    Row,
    SummaryRow,
    TimeRow,
    write_table,
)
from scenarios.learners.base import Settings
from scenarios.study.identity import Identity
from scenarios.study.job import jobs_of, parts_of
from scenarios.study.results import Result
from scenarios.study.scores import metric_rows
from scenarios.study.store import Store

TABLES = ("rows.csv", "summary.csv", "metrics.csv", "learners.csv", "costs.csv")
"""The tables that `write_tables` writes, by file name; the same study gives the same bytes."""

TIMES = "times.csv"
"""A further one: how long each task took, which no two runs have the same."""


def read_results(identity: Identity, root: Path) -> list[Result]:
    """Read what is finished of every job."""
    results = []
    for job in jobs_of(identity.study, len(identity.tasks)):
        store = Store(root, identity.of(job))
        found = {part: store.read(job.name, part) for part in parts_of(identity.study, job)}
        parts = {part: measured for part, measured in found.items() if measured is not None}
        tasks = tuple(identity.tasks[k] for k in job.places)
        features = identity.study.features_of(job.learner)
        results.append(Result(job=job, tasks=tasks, features=features, parts=parts))
    return results


def write_tables(identity: Identity, root: Path) -> None:
    """Write the tables of TABLES from what is finished so far."""
    study, results = identity.study, read_results(identity, root)
    rows = [row for result in results for row in _rows(identity, result)]
    _write(root / "rows.csv", Row, rows)
    _write(root / "summary.csv", SummaryRow, summarise(rows))
    by_first = study.scenario.kind == "multimodal"
    metrics = metric_rows(results, study.report, by_first)
    _write(root / "metrics.csv", MetricRow, metrics)
    learners = [_learner(name, settings) for name, settings in study.learners.items()]
    _write(root / "learners.csv", LearnerRow, learners)
    _write(root / "costs.csv", CostRow, [c for result in results for c in _costs(result)])
    _write(root / TIMES, TimeRow, [t for result in results for t in _times(result)])


def _rows(identity: Identity, result: Result) -> Iterator[Row]:
    """Yield the rows of one job: R cell by cell, then PRA and F1 feature by feature."""
    job, study = result.job, identity.study
    blank = Row(
        scenario=study.scenario.title,
        network=study.network.name,
        learner=job.learner,
        order=job.order,
        seed=job.seed,
        measure="",
        value=0.0,
    )
    for head in study.report.heads:
        for step, counts in result.steps(head).items():
            cell = replace(blank, measure="accuracy", step=step, head=head)
            places = range(1, len(result.tasks) + 1)
            values = [counts.accuracy(place, study.report.mean) for place in places]
            yield from _per_task(cell, result, values)
    for depth, feature in enumerate(result.features, 1):
        counts_at = result.at_feature(feature)
        if counts_at is not None:
            cell = replace(blank, feature=feature, depth=depth)
            yield replace(cell, measure="pra", value=pra(counts_at.total))
            yield from _per_task(replace(cell, measure="f1"), result, map(float, counts_at.f1()))


def _learner(name: str, settings: Settings) -> LearnerRow:
    budget = settings.budget
    return LearnerRow(
        learner=name,
        kind=settings.kind,
        per_class=budget.per_class if budget else None,
        total=budget.total if budget else None,
        sampling=budget.sampling if budget else "",
    )


def _costs(result: Result) -> Iterator[CostRow]:
    job = result.job
    for step, cost in result.costs().items():
        numbers = asdict(cost)
        yield CostRow(learner=job.learner, order=job.order, seed=job.seed, step=step, **numbers)


def _times(result: Result) -> Iterator[TimeRow]:
    job = result.job
    for step, seconds in result.seconds().items():
        yield TimeRow(
            learner=job.learner, order=job.order, seed=job.seed, step=step, seconds=seconds
        )


def _write(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Replace a table in one go, so that no reader sees half of it."""
    with replacing(path) as partial:
        write_table(partial, kind, rows)


def _per_task(cell: Row, result: Result, values: Iterable[float]) -> Iterator[Row]:
    for place, (task, value) in enumerate(zip(result.names, values, strict=True), 1):
        yield replace(cell, place=place, task=task, value=value)
