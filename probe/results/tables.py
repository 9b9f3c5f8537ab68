"""The tidy tables of a plan, computed from the finished measurements of its jobs.

`probe.tables.schemas` describes the columns of each table. All tables are rewritten
from the stored predictions each time, never extended: they hold only the present
results, and nothing of earlier settings. The same results give the same bytes; only the
times differ from run to run. Figures are drawn from the tables only.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from probe.analysis.statements import STUCK
from probe.arrays import Floats
from probe.by_layer.jobs import Job, jobs_of, readout_keys
from probe.by_layer.measurement import Key, Measurements, TrainingCost
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.extensions import MetricEntry
from probe.files import discard, replacing
from probe.metrics.murata import RETRAIN
from probe.metrics.renaming import renaming_notes
from probe.notes import constant
from probe.results.causes import cause_rows, withheld_notes
from probe.results.controls import control_rows
from probe.results.layers import layers_of
from probe.results.predictions import Predictions, main_head, note_row
from probe.results.repeats import repeated_networks
from probe.results.run_directory import describe, store_of
from probe.results.scores import metric_rows, user_scores
from probe.results.statements import (
    first_layers,
    statement_rows,
    statement_seed_rows,
)
from probe.results.stored_pairs import StoredPairs, stored_pairs, without_broken_laws
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


def read_predictions(plan: Plan, root: Path) -> Predictions:
    """Read the finished measurements of a run directory, job by job.

    Corrupt files are set aside and count as missing.

    Args:
        plan: The plan.
        root: The run directory.

    Raises:
        InputError: An intact file has predictions of other tasks.
    """
    return Predictions.of(plan, _read_jobs(plan, root))


def _read_jobs(plan: Plan, root: Path) -> Iterator[tuple[Job, Measurements]]:
    """Read each job; raises InputError for labels outside their tasks, as in an edited file."""
    known = {(t, label) for t, task in enumerate(plan.tasks) for label in task.classes}
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        # Measurements that the plan no longer has stay on disk unused.
        measurements = store.measurements()
        for test in {id(m.test): m.test for m in measurements.values()}.values():
            labels = zip(test.tasks.tolist(), test.labels.tolist(), strict=True)
            if not known.issuperset(labels):
                raise InputError(
                    f"{store.folder} holds invalid results (its test examples have "
                    "labels outside their tasks): remove it, and run the same command "
                    "again"
                )
        yield job, measurements


def tables_of(predictions: Predictions, metrics: Iterable[MetricEntry] = ()) -> Tables:
    """Return all tables by name from the finished measurements.

    The same results give the same tables, except for the times.

    Args:
        predictions: The predictions of the plan's jobs.
        metrics: User-defined metrics.
    """
    plan = predictions.plan
    pairs = stored_pairs(predictions)
    layers = list(layers_of(without_broken_laws(predictions, pairs)))
    notes, doubts = check_trainings(predictions)
    notes_on_repeats, doubts = repeated_networks(predictions, doubts)
    rows: dict[str, Iterable[Row]] = {
        # Only its sessions hold different kinds of data, so that the first one matters.
        "metrics": metric_rows(
            predictions, metrics, by_first=plan.kind == "multimodal"
        ),
        "learners": _learner_rows(plan),
        "costs": ({**run, **asdict(x.cost)} for run, x in _costs(predictions)),
        "times": ({**run, "seconds": x.seconds} for run, x in _costs(predictions)),
        "layers": chain.from_iterable(layer.rows() for layer in layers),
        "statements": chain.from_iterable(
            statement_rows(layer, doubts) for layer in layers
        ),
        "statement_seeds": chain.from_iterable(map(statement_seed_rows, layers)),
        "retraining": _epoch_rows(predictions),
        "diagnostics": _diagnostic_rows(predictions),
        "notes": [
            *notes,
            *notes_on_repeats,
            *_notes(predictions, metrics),
            *_notes_on_spread(predictions),
            *withheld_notes(predictions, pairs),
        ],
        "controls": control_rows(predictions),
        "causes": _cause_rows(predictions, pairs, doubts.equal | doubts.motionless),
    }
    tables = {name: new_table(name, lines) for name, lines in rows.items()}
    depths = {job.learner: len(predictions.features(job)) for job in predictions.runs}
    tables["first_layer"] = first_layers(tables["statements"], depths)
    return {**tables, **_measured_tables(predictions)}


def _cause_rows(
    predictions: Predictions, pairs: StoredPairs, repeating: Set[str]
) -> Iterator[Row]:
    """Yield the causes of every learner but those whose networks repeat one another."""
    for learner, jobs in predictions.by_learner().items():
        # Networks that are equal in several seeds, or after several tasks, tell no causes.
        if learner not in repeating:
            yield from cause_rows(predictions, jobs, pairs)


def _measured_tables(predictions: Predictions) -> Tables:
    """Return all measurements, and their summary over orders and seeds."""
    rows: list[Row] = []
    last: list[int] = []
    for job in predictions.runs:
        rows += measured_rows(predictions, job)
        last += [job.last] * (len(rows) - len(last))
    measurements = new_table("measurements", rows)
    # Networks at the end of jobs; accuracies say the learners' order.
    at_end = measurements["tasks_seen"] == last
    summarized = measurements[at_end | (measurements["metric"] == "accuracy")]
    return {"measurements": measurements, "summary": summarize(summarized)}


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
    predictions = read_predictions(plan, root)
    describe(root, plan, tables="")
    for name, table in tables_of(predictions, metrics).items():
        path = root / f"{name}.csv"
        if table.empty and name not in ALWAYS:
            # No table may remain of results that are no longer shown.
            discard(path)
            continue
        # Replaced at once, so that no reader sees half a table.
        with replacing(path) as unfinished:
            write_table(unfinished, name, table)


def measured_rows(predictions: Predictions, job: Job) -> Iterator[Row]:
    """Yield the measurements of a job: R cell by cell, then each feature's matrix A, PRA and F1.

    Tasks seen count from 0 (before any task), depths and positions from 1. R is yielded
    once for each head of the report. F1 is that of partial retraining after the last
    task.

    Args:
        predictions: The predictions of all jobs.
        job: The job.

    Yields:
        The rows.
    """
    plan = predictions.plan
    study = {"scenario": plan.scenario, "network": plan.network, **job.columns}
    *_, output = features = predictions.features(job)
    # R, once for each head of the report.
    for head in plan.report.heads:
        for tasks_seen, row in predictions.output(job, head).items():
            cell = study | {
                "metric": "accuracy",
                "tasks_seen": tasks_seen,
                "head": head,
            }
            yield from _by_task(cell, predictions, job, predictions.accuracy[row])
    # A of each feature and readout: all tasks together, then task by task.
    for key, row in predictions.readouts[job.name].items():
        cell = study | _columns(key, features) | {"readout": str(key.readout)}
        yield cell | {"metric": "pra", "value": predictions.pra[row]}
        cell |= {"metric": "accuracy"}
        yield from _by_task(cell, predictions, job, predictions.accuracy[row])
    # The last A is R itself: only its accuracy on all tasks is missing.
    for tasks_seen, row in predictions.output(job).items():
        cell = study | _columns(Key(tasks_seen, output), features)
        yield cell | {"metric": "pra", "value": predictions.pra[row]}
    for feature, row in predictions.retrained_rows(job).items():
        readout = "" if feature == output else RETRAIN
        cell = study | _columns(Key(job.last, feature), features)
        cell |= {"metric": "f1", "readout": readout}
        yield from _by_task(cell, predictions, job, predictions.f1[row])


def _columns(key: Key, features: Sequence[str]) -> Row:
    """Return the columns that name a network and its feature."""
    return _place(key) | {"depth": 1 + features.index(key.feature)}


def _by_task(
    cell: Row, predictions: Predictions, job: Job, values: Floats
) -> Iterator[Row]:
    """Yield a row for each task's value, (T,), with its name and position in the order."""
    names = predictions.names(job)
    for j, (task, value) in enumerate(zip(names, values.tolist(), strict=True), 1):
        yield cell | {"task_position": j, "task": task, "value": value}


def _learner_rows(plan: Plan) -> Iterator[Row]:
    for name, learner in plan.learners.items():
        if learner.listed:
            yield {"learner": name, **learner.model_dump(include=_LEARNER_FIELDS)}


def _costs(predictions: Predictions) -> Iterator[tuple[Row, TrainingCost]]:
    """Yield the columns that name each training on a task, with its cost."""
    for job in predictions.runs:
        for tasks_seen, training in predictions.costs(job):
            yield {**job.columns, "tasks_seen": tasks_seen}, training


def _diagnostic_rows(predictions: Predictions) -> Iterator[Row]:
    for job in predictions.runs:
        features = predictions.features(job)
        for key, values in predictions.diagnostics(job).items():
            row = job.columns | _columns(key, features)
            for name, value in values.items():
                yield row | {"metric": name, "value": value}


def _epoch_rows(predictions: Predictions) -> Iterator[Row]:
    """Yield a row for each epoch of retrainings, the longest of each feature and step."""
    for job in predictions.runs:
        longest = {
            (key.feature, key.tasks_seen, key.readout.reestimates): key
            for key in predictions.readouts[job.name]
            if key.readout.is_retraining
        }
        for key in longest.values():
            history = predictions.measurements[job.name][key].history
            row = {**job.columns, **_place(key), "readout": str(key.readout)}
            if history is None:
                continue
            accuracies = (float("nan"), *history.accuracies)
            epochs = zip(history.losses, accuracies, strict=True)
            for epoch, (loss, accuracy) in enumerate(epochs):
                yield row | {"epoch": epoch, "loss": loss, "accuracy": accuracy}


def _place(key: Key) -> Row:
    return {"tasks_seen": key.tasks_seen, "feature": key.feature}


def _notes(predictions: Predictions, metrics: Iterable[MetricEntry]) -> Iterator[Row]:
    """Yield a row for each note on jobs' measurements, those on the learner first."""
    for job in predictions.runs:
        for tasks_seen, note in _output_notes(predictions, job, metrics):
            yield note_row(job, tasks_seen, note)
        for key, values in predictions.diagnostics(job).items():
            row = job.columns | _place(key)
            if not values:
                yield row | {"readout": str(key.readout), "note": UNREADABLE}
            elif values.get("dead") == 1:
                yield row | {"note": DEAD}
        for key in predictions.readouts[job.name]:
            row = job.columns | _place(key) | {"readout": str(key.readout)}
            for note in predictions.measurements[job.name][key].notes:
                yield row | {"note": note}


def _output_notes(
    predictions: Predictions, job: Job, metrics: Iterable[MetricEntry]
) -> Iterator[tuple[int, str]]:
    """Yield the notes on the networks themselves, with the number of tasks learned."""
    head = main_head(job)
    tested = predictions.output_tests(job)
    stuck = (step for step, training in predictions.costs(job) if training.stuck)
    for tasks_seen in sorted(stuck):
        yield tasks_seen, STUCK
    for tasks_seen, measurement in tested.items():
        for note in measurement.notes:
            yield tasks_seen, note
        predicted = measurement.predicted[head]
        labels = measurement.test.labels
        is_constant = (predicted == predicted[0]).all() and (labels != labels[0]).any()
        if tasks_seen and is_constant:
            yield tasks_seen, constant(int(predicted[0]))
    # An untrained network has no order of classes.
    if job.last and (output := tested.get(job.last)):
        for note in renaming_notes(output.predicted[head], output.test.labels):
            yield job.last, note
    R = predictions.R(job, head)
    if R is not None:
        for note in user_scores(R, metrics)[1]:
            yield job.last, note


def _notes_on_spread(predictions: Predictions) -> Iterator[Row]:
    """Yield a row for each readout that is measured after only some of a job's tasks."""
    plan = predictions.plan
    for job in predictions.runs:
        learned = set(job.steps) - {0}
        keys = readout_keys(plan, job)
        for name, readout in plan.readouts.items():
            of_readout = [key for key in keys if key.readout.planned == name]
            steps = {key.tasks_seen for key in of_readout} - {0}
            is_partial = 0 < len(steps) < len(learned) and not job.offline
            if readout.steps == "spread" and is_partial:
                note = _SPREAD.format(len(steps), len(learned))
                yield note_row(job, job.last, note, readout=name)
