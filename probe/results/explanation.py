"""From a number to its cause: the formula of a layer's quantity and each accuracy in it."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from probe.by_layer.jobs import jobs_of
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.errors import InputError, unknown
from probe.results.analysis import note_sentences
from probe.results.result import JobResult, job_result
from probe.results.run_directory import read_plan, store_of
from probe.tables.folder import read_tables
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

LEARNED, END, BEST, FLOOR, CEILING = "A[j,j]", "A[T,j]", "max A[t,j]", "b[j]", "C[j]"


def _share(end: float, floor: float, ceiling: float) -> float:
    return (end - floor) / (ceiling - floor) if ceiling != floor else math.nan


FORMULAS: Mapping[str, tuple[Callable[..., float], tuple[str, ...]]] = {
    "accuracy": (operator.pos, (END,)),
    "floor": (operator.pos, (FLOOR,)),
    "ceiling": (operator.pos, (CEILING,)),
    "missing": (operator.sub, (CEILING, END)),
    "never_learned": (operator.sub, (CEILING, LEARNED)),
    "forgotten": (operator.sub, (LEARNED, END)),
    "forgotten_max": (operator.sub, (BEST, END)),
    "above_floor": (operator.sub, (END, FLOOR)),
    "acquired": (operator.sub, (LEARNED, FLOOR)),
    "retained": (_share, (END, FLOOR, CEILING)),
}
"""The quantities that are functions of accuracies on one task: the function, and its terms."""

_SHOWN = {operator.pos: "{}", operator.sub: "{} - {}", _share: "({0} - {1}) / ({2} - {1})"}

_MEANS = (
    "A[t,j]: accuracy on the task at position j after t of T tasks; max over t = j .. T-1; b: of "
    "the untrained network; C: of the offline-trained network. Cells are averaged over the orders "
    "of a seed, then over seeds; for all tasks see `probe.analysis.layers.quantities`"
)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The cells that a quantity of a layer is made of, and sentences: notes, files."""

    cells: Sheet
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def explain(root: Path, learner: str, readout: str, feature: str, quantity: str) -> Explanation:
    """Return each accuracy that goes into a quantity of a layer, by seed, order and position.

    Args:
        root: A run directory.
        learner: The name of a learner of the study.
        readout: The readout downstream of the feature.
        feature: The layer.
        quantity: A quantity of layers.csv, one of `FORMULAS`.

    Raises:
        InputError: The directory holds no study, or a name is not in it.
    """
    plan = read_plan(root)
    if quantity not in FORMULAS:
        raise unknown("quantity", quantity, FORMULAS)
    names = [n for n, settings in plan.learners.items() if settings.kind not in CONTROLS]
    if learner not in names:
        raise unknown("learner of this study", learner, names)
    jobs = [job for job in jobs_of(plan) if not job.without]
    used = {UNTRAINED: FLOOR, OFFLINE: CEILING}
    function, terms = FORMULAS[quantity]
    jobs = [job for job in jobs if job.learner == learner or used.get(job.kind) in terms]
    stores = {job: store_of(plan, root, job) for job in jobs}
    results = {job: job_result(plan, job, store.measurements()) for job, store in stores.items()}
    runs = [results[job] for job in jobs if job.learner == learner]
    readouts = list(dict.fromkeys(name for run in runs for name in run.readouts))
    for kind, name, choices in (
        ("feature of this learner", feature, plan.learners[learner].features),
        ("readout of this study", readout, readouts),
    ):
        if name not in choices:
            raise unknown(kind, name, choices)
    controls = {(job.kind, job.seed): result for job, result in results.items()}
    cells = [
        (run, j, values)
        for run in runs
        # Of the last task nothing can have been forgotten yet.
        for j in range(1, len(run.tasks) + (not quantity.startswith("forgotten")))
        if (values := _values(run, feature, readout, controls, j)).keys() >= set(terms)
    ]
    if not cells:
        raise InputError(
            f"{quantity} of {feature} by {readout} was not measured in {root}: choose a row of "
            f"layers.csv"
        )
    tables = read_tables(root)
    allowed = {"learner": [learner], "feature": ["", feature], "readout": ["", readout]}
    notes = where(tables["notes"], **allowed)
    layer = {"learner": learner, "readout": readout, "feature": feature}
    return Explanation(
        cells=Sheet(
            of=", ".join(layer.values()),
            title=f"{quantity}[j] = {_SHOWN[function].format(*terms)}",
            columns=("seed", "order", "j", "task", *terms, quantity),
            lines=[
                (
                    *(str(run.job.seed), run.job.order, str(j), run.names[j - 1]),
                    *(f"{values[term]:.4f}" for term in terms),
                    f"{function(*(values[term] for term in terms)):.4f}",
                )
                for run, j, values in cells
            ],
            after=[*_table_lines(tables, layer, quantity), _MEANS],
        ),
        notes=tuple(note_sentences(notes)),
        files=tuple(path for job in jobs for path in sorted(stores[job].folder.glob("*.npz"))),
    )


def _values(
    run: JobResult,
    feature: str,
    readout: str,
    controls: Mapping[tuple[str, int], JobResult],
    j: int,
) -> dict[str, float]:
    """Return the terms of a run that were measured, for the task at position j."""
    T, task = len(run.tasks), run.job.tasks[j - 1]
    rows = {t: scores.accuracy[j - 1] for t, scores in run.rows(feature, readout).items()}
    values = {END: rows[T]} if T in rows else {}
    if j in rows:
        values[LEARNED] = rows[j]
    if j < T and rows.keys() >= set(range(j, T)):
        values[BEST] = max(rows[t] for t in range(j, T))
    if run.job.own_network and 0 in rows:
        values[FLOOR] = rows[0]
    for name, kind in ((FLOOR, UNTRAINED), (CEILING, OFFLINE)):
        control = None if run.job.own_network else controls.get((kind, run.job.seed))
        if control and (scores := control.at_end(feature, readout)):
            values[name] = scores.accuracy[task]  # the controls have the tasks in base order
    return values


def _table_lines(tables: Tables, layer: Mapping[str, str], quantity: str) -> Iterator[str]:
    """Yield what layers.csv says of the quantity, for each task position and for all tasks."""
    for row in records(tables["layers"]):
        if row.quantity == quantity and layer.items() <= row._asdict().items():
            where = "all tasks" if row.task_position is None else f"j = {row.task_position}"
            interval = "" if math.isnan(row.low) else f" [{row.low:.4f}, {row.high:.4f}]"
            yield f"layers.csv, {where}: {row.value:.4f}{interval}, {row.seeds} seeds"
