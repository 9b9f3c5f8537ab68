"""The tidy tables of a plan, computed from the finished measurements of its jobs.

`probe.tables.schemas` describes the columns of each table. All tables are rewritten
from the stored predictions each time, never extended: they hold only the present
results, and nothing of earlier settings. The same results give the same bytes; only the
times differ from run to run. Figures are drawn from the tables only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from probe.analysis.statements import STUCK
from probe.analysis.variance import Floats
from probe.by_layer.jobs import Job, jobs_of, readout_keys
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.extensions import MetricEntry
from probe.files import discard, replacing
from probe.metrics.murata import RETRAIN
from probe.metrics.renaming import renaming_notes
from probe.notes import constant
from probe.results.causes import cause_rows, withheld_notes
from probe.results.controls import control_rows
from probe.results.layers import Layer, first_layers, layers_of
from probe.results.repeats import repeated_networks
from probe.results.result import JobResult, Results, job_result, main_head
from probe.results.run_directory import describe, store_of
from probe.results.scores import metric_rows, user_scores
from probe.results.stored_pairs import lawful
from probe.results.training_checks import check_trainings
from probe.tables.schemas import Row, Tables
from probe.tables.summary import summarize
from probe.tables.table_file import new_table, write_table

ALWAYS = ("measurements", "summary", "metrics", "learners", "costs", "times")
"""Tables that are written even if they have no rows."""

_LEARNER_FIELDS = {"kind", "per_class", "total", "sampling"}  # columns of learners.csv

_SPREAD = (
    "measured after {} of {} tasks: forgotten and never learned are known of these, and not over "
    'all tasks; steps = "all" measures every row'
)

UNREADABLE = (
    "not measured: its values are infinite or complex, or have no row for each example"
)
DEAD = "all of its units are dead: each has the same value for every test example"


def read_results(plan: Plan, root: Path) -> Iterator[JobResult]:
    """Read the finished measurements of a run directory, job by job, in the order of `jobs_of`.

    Corrupt files are set aside and count as missing.

    Args:
        plan: The plan.
        root: The run directory.

    Yields:
        The results of each job.

    Raises:
        InputError: An intact file has predictions of other tasks.
    """
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        # Measurements that the plan no longer has stay on disk unused.
        try:
            yield job_result(plan, job, store.measurements())
        except InputError as error:
            raise InputError(
                f"{store.folder} holds invalid results ({error}): remove it, and run "
                "the same command again"
            ) from None


def tables_of(
    plan: Plan, results: Results, metrics: Iterable[MetricEntry] = ()
) -> Tables:
    """Return all tables by name from the finished measurements.

    The same results give the same tables, except for the times.

    Args:
        plan: The plan of the study.
        results: The results of its jobs.
        metrics: User-defined metrics.
    """
    controls = list(control_rows(results))
    # Networks that never saw a task enter no other table.
    results = [result for result in results if not result.job.without]
    notes, withheld = check_trainings(results)
    notes_on_repeats, unsaid = repeated_networks(plan, results)
    # Of seeds, or of tasks, whose networks are equal.
    outputs = {
        (name, learner.features[-1], "forgets")
        for name, learner in plan.learners.items()
    }
    equal = {learner for learner, *_ in unsaid.keys() & outputs}
    layers = list(layers_of([lawful(result) for result in results]))

    def verdict_of(layer: Layer, row: Row) -> str:
        name = row["statement"]
        verdict = str(row["verdict"])
        # A doubtful output says nothing of hidden layers.
        at_output = {} if layer.chance is None else withheld
        verdict = at_output.get((layer.learner, name), verdict)
        return unsaid.get((layer.learner, layer.feature, name), verdict)

    costs = [
        ({**result.job.columns, "tasks_seen": tasks_seen}, cost)
        for result in results
        for tasks_seen, cost in result.costs.items()
    ]
    rows: dict[str, Iterable[Any]] = {
        # Only its sessions hold different kinds of data, so that the first one matters.
        "metrics": metric_rows(
            results, plan.report, metrics, plan.kind == "multimodal"
        ),
        "learners": [
            {"learner": name, **learner.model_dump(include=_LEARNER_FIELDS)}
            for name, learner in plan.learners.items()
            if learner.listed
        ],
        "costs": [{**run, **asdict(training.cost)} for run, training in costs],
        "times": [{**run, "seconds": training.seconds} for run, training in costs],
        "layers": [row for layer in layers for row in layer.rows()],
        "statements": [
            {**row, "verdict": verdict_of(layer, row)}
            for layer in layers
            for row in layer.statements()
        ],
        "statement_seeds": [row for layer in layers for row in layer.statement_seeds()],
        "retraining": [row for result in results for row in _epochs(result)],
        "diagnostics": [
            {
                **result.job.columns,
                **_columns(key),
                "depth": depth,
                "metric": name,
                "value": value,
            }
            for result in results
            for key, values in result.diagnostics.items()
            for depth in [1 + result.features.index(key.feature)]
            for name, value in values.items()
        ],
        "notes": [
            *notes,
            *notes_on_repeats,
            *(row for result in results for row in _notes(result, metrics)),
            *(row for result in results for row in _notes_on_spread(plan, result.job)),
            *withheld_notes(results, plan.hybrids),
        ],
        "controls": controls,
        "causes": cause_rows(
            [r for r in results if r.job.learner not in equal], plan.hybrids
        ),
    }
    measured = [(row, r.job.last) for r in results for row in measured_rows(plan, r)]
    measurements = new_table("measurements", (row for row, _ in measured))
    # Networks at the end of jobs; accuracies say the learners' order.
    at_end = measurements["tasks_seen"] == [last for _, last in measured]
    summarized = measurements[at_end | (measurements["metric"] == "accuracy")]
    tables = {name: new_table(name, of_table) for name, of_table in rows.items()}
    depths = {result.job.learner: len(result.features) for result in results}
    return {
        **tables,
        "first_layer": first_layers(tables["statements"], depths),
        "measurements": measurements,
        "summary": summarize(summarized),
    }


def write_tables(plan: Plan, root: Path, metrics: Iterable[MetricEntry] = ()) -> None:
    """Write all tables of a run directory that have rows, and those in `ALWAYS`.

    Args:
        plan: The plan.
        root: The run directory.
        metrics: The user's metrics.

    Raises:
        InputError: An intact file has predictions of other tasks.
        NotWritten: A table cannot be written.
    """
    results = list(read_results(plan, root))
    describe(root, plan, tables="")
    for name, table in tables_of(plan, results, metrics).items():
        path = root / f"{name}.csv"
        if table.empty and name not in ALWAYS:
            # No table may remain of results that are no longer shown.
            discard(path)
            continue
        # At once, so that no reader sees half of it.
        with replacing(path) as unfinished:
            write_table(unfinished, name, table)


def measured_rows(plan: Plan, result: JobResult) -> Iterator[Row]:
    """Yield the measurements of a job: R cell by cell, then each feature's matrix A, PRA and F1.

    Tasks seen count from 0 (before any task), depths and positions from 1. R is yielded
    once for each head of the report. F1 is that of partial retraining after the last
    task.

    Args:
        plan: The plan.
        result: The results of the job.

    Yields:
        The rows.
    """
    row = partial[dict[str, Any]](
        dict, scenario=plan.scenario, network=plan.network, **result.job.columns
    )
    for head in plan.report.heads:
        for tasks_seen, scores in result.outputs.get(head, {}).items():
            cell = partial(row, metric="accuracy", tasks_seen=tasks_seen, head=head)
            yield from _by_task(cell, result, scores.accuracy)
    for key, scores in result.downstream.items():
        cell = partial(
            row, depth=scores.depth, **_columns(key), readout=str(key.readout)
        )
        yield cell(metric="pra", value=scores.pra)
        yield from _by_task(partial(cell, metric="accuracy"), result, scores.accuracy)
    output = partial(row, feature=result.features[-1], metric="pra")
    for tasks_seen, scores in result.output.items():
        yield output(depth=scores.depth, tasks_seen=tasks_seen, value=scores.pra)
    for feature, scores in result.retrained.items():
        readout = "" if feature == result.features[-1] else RETRAIN
        cell = partial(
            row,
            depth=scores.depth,
            metric="f1",
            tasks_seen=result.job.last,
            feature=feature,
            readout=readout,
        )
        yield from _by_task(cell, result, scores.f1)


def _columns(key: Key) -> dict[str, Any]:
    return {"tasks_seen": key.tasks_seen, "feature": key.feature}


def _notes(result: JobResult, metrics: Iterable[MetricEntry]) -> Iterator[Row]:
    """Yield a row for each note on a job's measurements, those on the learner first."""
    row = partial[dict[str, Any]](dict, **result.job.columns)
    for tasks_seen in sorted(t for t, cost in result.costs.items() if cost.stuck):
        yield row(tasks_seen=tasks_seen, note=STUCK)
    for tasks_seen, scores in result.output.items():
        yield from (row(tasks_seen=tasks_seen, note=note) for note in scores.notes)
        if tasks_seen and scores.constant is not None:
            yield row(tasks_seen=tasks_seen, note=constant(scores.constant))
    at_end = partial(row, tasks_seen=result.job.last)
    yield from (at_end(note=note) for note in _notes_at_end(result, metrics))
    for key, values in result.diagnostics.items():
        if not values:
            yield row(**_columns(key), readout=str(key.readout), note=UNREADABLE)
        elif values["dead"] == 1:
            yield row(**_columns(key), note=DEAD)
    for key, scores in result.downstream.items():
        of_readout = partial(row, **_columns(key), readout=str(key.readout))
        yield from (of_readout(note=note) for note in scores.notes)


def _notes_at_end(result: JobResult, metrics: Iterable[MetricEntry]) -> Iterator[str]:
    """Yield the notes on the output after all tasks."""
    head = main_head(result.job)
    if output := result.tested.get(result.job.last):
        yield from renaming_notes(output.predicted[head], output.test.labels)
    if (R := result.R(head)) is not None:
        yield from user_scores(R, metrics)[1]


def _notes_on_spread(plan: Plan, job: Job) -> Iterator[Row]:
    """Yield a row for each readout that is measured after only some of a job's tasks."""
    learned = set(job.steps) - {0}
    keys = readout_keys(plan, job)
    for name, readout in plan.readouts.items():
        steps = {key.tasks_seen for key in keys if key.readout.planned == name} - {0}
        if (
            readout.steps == "spread"
            and 0 < len(steps) < len(learned)
            and not job.offline
        ):
            yield {
                **job.columns,
                "readout": name,
                "tasks_seen": job.last,
                "note": _SPREAD.format(len(steps), len(learned)),
            }


def _epochs(result: JobResult) -> Iterator[Row]:
    """Yield a row for each epoch of a job's retrainings, the longest of each feature and step."""
    longest = {
        (key.feature, key.tasks_seen, key.readout.reestimates): key
        for key in result.downstream
        if key.readout.is_retraining
    }
    for key in longest.values():
        row = {**result.job.columns, **_columns(key), "readout": str(key.readout)}
        if history := result.downstream[key].history:
            accuracies = (float("nan"), *history.accuracies)
            for epoch, (loss, accuracy) in enumerate(
                zip(history.losses, accuracies, strict=True)
            ):
                yield {**row, "epoch": epoch, "loss": loss, "accuracy": accuracy}


def _by_task(
    cell: Callable[..., Row], result: JobResult, values: Floats
) -> Iterator[Row]:
    """Yield a row for each task's value, (T,), with its name and position in the order."""
    for k, (task, value) in enumerate(
        zip(result.names, values.tolist(), strict=True), 1
    ):
        yield cell(task_position=k, task=task, value=value)
