"""The tidy tables of a run directory, derived from its finished parts.

The columns of each table are in `probe.tables.rows`. All tables are made anew from the stored
counts each time, never added to: so they hold what is finished now, and nothing of settings that
the study no longer has. The same results give the same bytes; only `times.csv` differs from run to
run, as it is measured in seconds, and `notes.csv` is there only if there are notes. `probe run`
writes them; figures are drawn from them alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError
from probe.files import discard, replacing
from probe.metrics.murata import RETRAIN
from probe.notes import constant
from probe.tables.rows import (
    AnyRow,
    CostRow,
    DiagnosticRow,
    LayerRow,
    LearnerRow,
    MetricRow,
    NoteRow,
    RetrainingRow,
    Row,
    StartRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.run_directory import NOTES, TIMES
from probe.tables.summary import Group, summarize_groups
from probe.tables.table_file import write_table
from probe.training.history import STUCK
from scenarios.learners.base import Settings
from scenarios.study.fingerprint import Setup
from scenarios.study.jobs import jobs_of, parts_of
from scenarios.study.reporting.layers import layer_rows, start_rows
from scenarios.study.reporting.own_metrics import own_scores
from scenarios.study.reporting.results import Result, own_head, result_of
from scenarios.study.reporting.scores import metric_rows
from scenarios.study.run_directory import store_of
from scenarios.study.spec import Study


def read_results(setup: Setup, root: Path) -> Iterator[Result]:
    """Read what is finished, job by job, in the order of `jobs_of`.

    Files that are corrupt are set aside on the way and count as missing. Raises InputError for
    counts that are of other tasks: they have been made so, as what is damaged is set aside before.
    """
    study = setup.study
    for job in jobs_of(study, len(setup.tasks)):
        store = store_of(setup, root, job)
        # Only the parts that the study asks for: a feature that it no longer names stays on disk
        # unread.
        found = {part: store.read(part) for part in parts_of(study, job)}
        parts = {part: measured for part, measured in found.items() if measured is not None}
        tasks = tuple(setup.tasks[task] for task in job.tasks)
        try:
            yield result_of(job, tasks, study, parts)
        except InputError as error:
            raise InputError(
                f"{store.folder} holds results that cannot be ({error}): remove it, and run the "
                f"same command again"
            ) from None


def write_tables(setup: Setup, root: Path) -> None:
    """Write the tables of TABLES, that of times, and that of notes if there are any.

    They are made of what is finished so far. The same results give the same bytes, but for the
    times. Raises what `read_results` does, and NotWritten if a table cannot be written.
    """
    study, results = setup.study, list(read_results(setup, root))
    _replace(root / "summary.csv", SummaryRow, summary_rows(results))
    # Only there do the sessions hold different kinds of data, so that the first one matters.
    by_first = study.scenario.kind == "multimodal"
    _replace(root / "metrics.csv", MetricRow, metric_rows(results, study.report, by_first))
    learners = [_learner(name, settings) for name, settings in study.learners.items()]
    _replace(root / "learners.csv", LearnerRow, learners)
    _replace(root / "costs.csv", CostRow, (c for result in results for c in _costs(result)))
    _replace(root / TIMES, TimeRow, (t for result in results for t in _times(result)))
    later: list[tuple[str, type, Iterable[Any]]] = [
        ("layers.csv", LayerRow, layer_rows(results)),
        ("starts.csv", StartRow, start_rows(results)),
        ("retraining.csv", RetrainingRow, (e for result in results for e in _epochs(result))),
        ("diagnostics.csv", DiagnosticRow, (d for r in results for d in _diagnostics(r))),
        (NOTES, NoteRow, (note for result in results for note in _notes(result))),
    ]
    for name, kind, rows in later:
        # Without any, none may be left of results that are no longer shown.
        if found := list(rows):
            _replace(root / name, kind, found)
        else:
            discard(root / name)
    _replace(root / "rows.csv", Row, measured_rows(study, results))


def summary_rows(results: Sequence[Result]) -> list[SummaryRow]:
    """Return what `probe.tables.summary.summarize` makes of the rows of finished jobs.

    PRA and F1 over seeds, by learner and feature; F1 also by position in the executed order, from
    1.
    """
    # In the order in which the rows name them: a learner without any is not among them.
    named = (r.job.learner for r in results if r.retrained or any(r.accuracy.values()))
    learners = list(dict.fromkeys(named))
    groups: defaultdict[Group, list[tuple[int, float]]] = defaultdict(list)
    for result in results:
        learner, seed = result.job.learner, result.job.seed
        for feature, found in result.retrained.items():
            groups[Group(learner, "pra", found.depth, feature, None)].append((seed, found.pra))
            for place, value in enumerate(found.f1.tolist(), 1):
                groups[Group(learner, "f1", found.depth, feature, place)].append((seed, value))
    return summarize_groups(groups, learners)


def measured_rows(study: Study, results: Iterable[Result]) -> Iterator[Row]:
    """Yield the rows of jobs: R cell by cell, then each feature's own matrix, PRA and F1.

    Steps count from 0, before any task; depths and positions from 1. R comes once for each head of
    the report. F1 is that of partial retraining after the last task.
    """
    for result in results:
        row = partial(
            Row,
            scenario=study.scenario.title,
            network=study.network.name,
            learner=result.job.learner,
            order=result.job.order,
            seed=result.job.seed,
        )
        for head in study.report.heads:
            for step, accuracies in result.accuracy[head].items():
                cell = partial(row, measure="accuracy", step=step, head=head)
                yield from _per_task(cell, result, accuracies)
        for reading, found in result.behind.items():
            cell = partial(
                row,
                feature=reading.feature,
                depth=found.depth,
                step=reading.step,
                readout=reading.readout,
            )
            yield cell(measure="pra", value=found.pra)
            yield from _per_task(partial(cell, measure="accuracy"), result, found.accuracy)
        for step, found in result.output.items():
            output = partial(row, feature=result.features[-1], depth=found.depth, step=step)
            yield output(measure="pra", value=found.pra)
        for feature, found in result.retrained.items():
            inner = "" if feature == result.features[-1] else RETRAIN
            cell = partial(row, feature=feature, depth=found.depth, readout=inner)
            cell = partial(cell, step=result.last)
            yield from _per_task(partial(cell, measure="f1"), result, found.f1)


def _learner(name: str, settings: Settings) -> LearnerRow:
    """Return a learner's row: its kind, and how many samples it stores, chosen how."""
    budget = settings.budget
    return LearnerRow(
        learner=name,
        kind=settings.kind,
        per_class=budget.per_class if budget else None,
        total=budget.total if budget else None,
        sampling=budget.sampling if budget else "",
    )


def _costs(result: Result) -> Iterator[CostRow]:
    """Yield a row for what each task of a job cost."""
    job = result.job
    for step, cost in result.costs.items():
        numbers = asdict(cost)
        yield CostRow(learner=job.learner, order=job.order, seed=job.seed, step=step, **numbers)


def _times(result: Result) -> Iterator[TimeRow]:
    """Yield a row for the seconds that each task of a job took to learn."""
    job = result.job
    for step, seconds in result.seconds.items():
        yield TimeRow(
            learner=job.learner, order=job.order, seed=job.seed, step=step, seconds=seconds
        )


def _notes(result: Result) -> Iterator[NoteRow]:
    """Yield a row for each note on what a job measured, the learner itself first."""
    run = partial(NoteRow, learner=result.job.learner, order=result.job.order, seed=result.job.seed)
    for step in sorted(result.stuck):
        yield run(feature="", step=step, note=STUCK)
    for step, found in result.output.items():
        if step and found.constant is not None:
            yield run(feature="", step=step, note=constant(found.constant))
    R = result.matrix(own_head(result.job)) if own_head(result.job) in result.accuracy else None
    if R is not None:
        yield from (run(feature="", step=result.last, note=note) for note in own_scores(R).notes)
    for reading, behind in result.behind.items():
        at = partial(run, feature=reading.feature, step=reading.step, readout=reading.readout)
        yield from (at(note=note) for note in behind.notes)


def _epochs(result: Result) -> Iterator[RetrainingRow]:
    """Yield a row for each epoch of a job's retrainings, the longest of each feature and step."""
    longest = {(r.feature, r.step, r.reestimated): r for r in result.behind if r.base == RETRAIN}
    for reading in longest.values():
        row = partial(
            RetrainingRow,
            learner=result.job.learner,
            order=result.job.order,
            seed=result.job.seed,
            step=reading.step,
            feature=reading.feature,
            readout=reading.readout,
        )
        if history := result.behind[reading].history:
            accuracies = (float("nan"), *history.accuracies)
            for epoch, (loss, accuracy) in enumerate(zip(history.losses, accuracies, strict=True)):
                yield row(epoch=epoch, loss=loss, accuracy=accuracy)


def _diagnostics(result: Result) -> Iterator[DiagnosticRow]:
    """Yield a row for each number that describes a feature of a job's last network."""
    for reading, values in result.diagnostics.items():
        row = partial(
            DiagnosticRow,
            learner=result.job.learner,
            order=result.job.order,
            seed=result.job.seed,
            step=reading.step,
            feature=reading.feature,
            depth=1 + result.features.index(reading.feature),
        )
        yield from (row(measure=name, value=value) for name, value in values.items())


def _replace(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Replace a table in one go, so that no reader sees half of it."""
    with replacing(path) as unfinished:
        write_table(unfinished, kind, rows)


def _per_task(
    cell: Callable[..., Row], result: Result, values: NDArray[np.float64]
) -> Iterator[Row]:
    """Yield a row for each task's value, (T,), with its name and position in the order."""
    for place, (task, value) in enumerate(zip(result.names, values.tolist(), strict=True), 1):
        yield cell(place=place, task=task, value=value)
