"""The tidy tables of a plan, made of the finished measurements of its jobs.

The columns of each table are in `probe.tables.rows`. All tables are rewritten from the stored
counts each time, never extended: they hold the present results alone, and nothing of earlier
settings. The same results give the same bytes; only the times differ from run to run. Figures are
drawn from the tables alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.analysis.statements import STUCK
from probe.by_layer.jobs import Job, jobs_of, readings_of
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.extensions import MetricEntry
from probe.files import discard, replacing
from probe.metrics.murata import RETRAIN
from probe.notes import constant
from probe.results.controls import control_rows
from probe.results.layers import layers_of
from probe.results.result import Result, own_head, result_of
from probe.results.run_directory import store_of
from probe.results.sanity import doubts
from probe.results.scores import metric_rows, user_scores
from probe.tables.folder import KINDS
from probe.tables.layers import first_layer_rows
from probe.tables.rows import (
    CostRow,
    DiagnosticRow,
    LayerRow,
    LearnerRow,
    MeasurementRow,
    NoteRow,
    RetrainingRow,
    StatementRow,
    StatementSeedRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.run_directory import LAYERS, NOTES
from probe.tables.summary import summarize
from probe.tables.table_file import write_table

MAY_LACK = (*LAYERS, NOTES)
"""Tables that are written only if they have rows."""

_OF_LEARNER = {"kind", "per_class", "total", "sampling"}  # columns of learners.csv

_SPREAD = (
    "measured after {} of {} tasks: forgotten and never learned are known of these, and not over "
    'all tasks; steps = "all" measures every row'
)

DEAD = "all of its units are dead: each has the same value for every test example"


def read_results(plan: Plan, root: Path) -> Iterator[Result]:
    """Read the finished measurements of a run directory, job by job, in the order of `jobs_of`.

    Corrupt files are set aside and count as missing. Raises InputError for intact files with counts
    of other tasks.
    """
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        # Measurements that the plan no longer has stay on disk unused.
        try:
            yield result_of(plan, job, store.measurements())
        except InputError as error:
            raise InputError(
                f"{store.folder} holds invalid results ({error}): remove it, and run the "
                f"same command again"
            ) from None


def tables_of(
    plan: Plan, results: Sequence[Result], metrics: Iterable[MetricEntry] = ()
) -> dict[str, Iterable[Any]]:
    """Return all tables by name from the finished measurements; metrics: user-defined ones.

    The same results give the same rows, except for the times.
    """
    # Only its sessions hold different kinds of data, so that the first one matters.
    by_first = plan.kind == "multimodal"
    controls = list(control_rows(results))
    # Networks that never saw a task enter no other table.
    results = [result for result in results if not result.job.without]
    noted, withheld = doubts(results)
    layers: list[LayerRow] = []
    statements: list[StatementRow] = []
    statement_seeds: list[StatementSeedRow] = []
    for layer in layers_of(results):
        layers += layer.rows()
        statement_seeds += layer.statement_seeds()
        for row in layer.statements():
            doubt = withheld.get((row.learner, row.statement), row.verdict)
            known = row.verdict in ("few seeds", "not converged")
            statements.append(row if known else replace(row, verdict=doubt))
    depths = {result.job.learner: len(result.features) for result in results}
    return {
        "summary": summary_rows(plan, results),
        "metrics": metric_rows(results, plan.report, metrics, by_first),
        "learners": [
            LearnerRow(learner=name, **own.model_dump(include=_OF_LEARNER))
            for name, own in plan.learners.items()
            if own.listed
        ],
        "costs": (
            CostRow(**result.job.columns, tasks_seen=tasks_seen, **asdict(cost))
            for result in results
            for tasks_seen, cost in result.costs.items()
        ),
        "times": (
            TimeRow(**result.job.columns, tasks_seen=tasks_seen, seconds=seconds)
            for result in results
            for tasks_seen, seconds in result.seconds.items()
        ),
        "layers": layers,
        "statements": statements,
        "statement_seeds": statement_seeds,
        "first_layer": first_layer_rows(statements, depths),
        "retraining": (epoch for result in results for epoch in _epochs(result)),
        "diagnostics": (each for result in results for each in _diagnostics(result)),
        "notes": [
            *noted,
            *(note for result in results for note in _notes(result, metrics)),
            *(note for result in results for note in _thinned(plan, result.job)),
        ],
        "controls": controls,
        "measurements": measured_rows(plan, results),
    }


def write_tables(plan: Plan, root: Path, metrics: Iterable[MetricEntry] = ()) -> None:
    """Write all tables of a run directory; those in MAY_LACK only if they have rows.

    Raises what `read_results` does, and NotWritten if a table cannot be written.
    """
    results = list(read_results(plan, root))
    for name, rows in tables_of(plan, results, metrics).items():
        path = root / f"{name}.csv"
        each = list(rows) if path.name in MAY_LACK else rows
        if path.name in MAY_LACK and not each:
            # No table may remain of results that are no longer shown.
            discard(path)
            continue
        # At once, so that no reader sees half of it.
        with replacing(path) as unfinished:
            write_table(unfinished, KINDS[name], each)


def summary_rows(plan: Plan, results: Sequence[Result]) -> list[SummaryRow]:
    """Summarize the networks at the end of jobs, see `probe.tables.summary.summarize`."""
    rows = ((result.job.last, row) for result in results for row in measured_rows(plan, [result]))
    return summarize(row for last, row in rows if row.tasks_seen == last)


def measured_rows(plan: Plan, results: Iterable[Result]) -> Iterator[MeasurementRow]:
    """Yield the rows of jobs: R cell by cell, then each feature's matrix A, PRA and F1.

    Steps count from 0, before any task; depths and positions from 1. R comes once for each head of
    the report. F1 is of partial retraining after the last task.
    """
    for result in results:
        row = partial(
            MeasurementRow, scenario=plan.scenario, network=plan.network, **result.job.columns
        )
        for head in plan.report.heads:
            for tasks_seen, accuracies in result.accuracy[head].items():
                cell = partial(row, metric="accuracy", tasks_seen=tasks_seen, head=head)
                yield from _per_task(cell, result, accuracies)
        for reading, found in result.downstream.items():
            at = {
                "tasks_seen": reading.tasks_seen,
                "feature": reading.feature,
                "readout": reading.readout,
            }
            cell = partial(row, depth=found.depth, **at)
            yield cell(metric="pra", value=found.pra)
            yield from _per_task(partial(cell, metric="accuracy"), result, found.accuracy)
        for tasks_seen, found in result.output.items():
            output = partial(
                row, feature=result.features[-1], depth=found.depth, tasks_seen=tasks_seen
            )
            yield output(metric="pra", value=found.pra)
        for feature, found in result.retrained.items():
            inner = "" if feature == result.features[-1] else RETRAIN
            at = {"tasks_seen": result.job.last, "feature": feature, "readout": inner}
            cell = partial(row, depth=found.depth, metric="f1", **at)
            yield from _per_task(cell, result, found.f1)


def _notes(result: Result, metrics: Iterable[MetricEntry]) -> Iterator[NoteRow]:
    """Yield a row for each note on a job's measurements, those on the learner first."""
    run = partial(NoteRow, **result.job.columns)
    for tasks_seen in sorted(result.stuck):
        yield run(feature="", tasks_seen=tasks_seen, note=STUCK)
    for tasks_seen, found in result.output.items():
        yield from (run(feature="", tasks_seen=tasks_seen, note=note) for note in found.notes)
        if tasks_seen and found.constant is not None:
            yield run(feature="", tasks_seen=tasks_seen, note=constant(found.constant))
    if (R := result.matrix(own_head(result.job))) is not None:
        for note in user_scores(R, metrics)[1]:
            yield run(feature="", tasks_seen=result.job.last, note=note)
    for reading, values in result.diagnostics.items():
        if values["dead"] == 1:
            yield run(feature=reading.feature, tasks_seen=reading.tasks_seen, note=DEAD)
    for reading, found in result.downstream.items():
        at = partial(
            run, feature=reading.feature, tasks_seen=reading.tasks_seen, readout=reading.readout
        )
        yield from (at(note=note) for note in found.notes)


def _thinned(plan: Plan, job: Job) -> Iterator[NoteRow]:
    """Yield a row for each readout that is measured after some of a job's tasks alone."""
    learned, readings = set(job.steps) - {0}, readings_of(plan, job)
    for name, own in plan.readouts.items():
        steps = {each.tasks_seen for each in readings if each.base == name} - {0}
        if own.steps == "spread" and 0 < len(steps) < len(learned) and not job.offline:
            note = _SPREAD.format(len(steps), len(learned))
            yield NoteRow(**job.columns, feature="", readout=name, tasks_seen=job.last, note=note)


def _epochs(result: Result) -> Iterator[RetrainingRow]:
    """Yield a row for each epoch of a job's retrainings, the longest of each feature and step."""
    each = result.downstream
    longest = {(r.feature, r.tasks_seen, r.reestimated): r for r in each if r.base == RETRAIN}
    for reading in longest.values():
        at: dict[str, Any] = {"tasks_seen": reading.tasks_seen, "feature": reading.feature}
        row = partial(RetrainingRow, **result.job.columns, **at, readout=reading.readout)
        if history := each[reading].history:
            accuracies = (float("nan"), *history.accuracies)
            for epoch, (loss, accuracy) in enumerate(zip(history.losses, accuracies, strict=True)):
                yield row(epoch=epoch, loss=loss, accuracy=accuracy)


def _diagnostics(result: Result) -> Iterator[DiagnosticRow]:
    """Yield a row for each number that describes a feature of a job's last network."""
    for reading, values in result.diagnostics.items():
        at: dict[str, Any] = {"tasks_seen": reading.tasks_seen, "feature": reading.feature}
        depth = 1 + result.features.index(reading.feature)
        row = partial(DiagnosticRow, **result.job.columns, **at, depth=depth)
        yield from (row(metric=name, value=value) for name, value in values.items())


def _per_task(
    cell: Callable[..., MeasurementRow], result: Result, values: NDArray[np.float64]
) -> Iterator[MeasurementRow]:
    """Yield a row for each task's value, (T,), with its name and position in the order."""
    for task_position, (task, value) in enumerate(
        zip(result.names, values.tolist(), strict=True), 1
    ):
        yield cell(task_position=task_position, task=task, value=value)
