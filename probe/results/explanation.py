"""Explanations of a layer's quantity: its formula and each accuracy in it."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from probe.analysis.statements import STATEMENTS
from probe.by_layer.jobs import jobs_of
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.errors import InputError, unknown
from probe.notes import note_sentences
from probe.results.result import JobResult, job_result
from probe.results.run_directory import read_plan, store_of
from probe.tables.folder import read_tables
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

LEARNED, END, BEST, FLOOR, CEILING = "A[j,j]", "A[T,j]", "max A[t,j]", "b[j]", "C[j]"


FORMULAS: Mapping[str, tuple[str, ...]] = {
    "accuracy": (END,),
    "floor": (FLOOR,),
    "ceiling": (CEILING,),
    "missing": (CEILING, END),
    "never_learned": (CEILING, LEARNED),
    "forgotten": (LEARNED, END),
    "forgotten_max": (BEST, END),
    "above_floor": (END, FLOOR),
    "offline_adds": (CEILING, FLOOR),
    "acquired": (LEARNED, FLOOR),
    "retained": (END, FLOOR, CEILING),
}
"""The terms of each quantity that is a function of accuracies on one task, see `_SHOWN`."""

_SHOWN = {
    1: "{}",
    2: "{} - {}",
    3: "({0} - {1}) / ({2} - {1})",
}  # by the number of terms

_MEANS = (
    "A[t,j]: accuracy on the task at position j after t of T tasks; max over t = j .. "
    "T-1; b: of the untrained network; C: of the offline-trained network. Cells are "
    "averaged over orders, then over trainings. Over all tasks each test example "
    "weighs the same, and forgotten is the mean over j < T"
)


def _quantity(end: float, floor: float = 0.0, ceiling: float | None = None) -> float:
    """Return the value of a quantity from its terms, see `_SHOWN`."""
    if ceiling is None:
        return end - floor
    return (end - floor) / (ceiling - floor) if ceiling != floor else math.nan


def explain(
    root: Path, learner: str, readout: str, feature: str, quantity: str
) -> tuple[Sheet, tuple[str, ...], list[Path]]:
    """Return each accuracy that goes into a quantity of a layer, by seed, order and position.

    Args:
        root: A run directory.
        learner: The name of a learner of the study.
        readout: The readout downstream of the feature.
        feature: The layer.
        quantity: A quantity of layers.csv, one of `FORMULAS`, or a statement that one
            decides.

    Returns:
        The accuracies, the notes on them, and the files with their predictions.

    Raises:
        InputError: The directory holds no study, or a name is not in it.
    """
    plan = read_plan(root)
    quantity = STATEMENTS.get(quantity, quantity)
    learners = {
        n: s.features for n, s in plan.learners.items() if s.kind not in CONTROLS
    }
    variants = [str(v) for n in plan.readouts for v in plan.variants(n)]
    for kind, name, names, place in (
        ("quantity", quantity, FORMULAS, ""),
        ("learner", learner, learners, "in this study"),
        ("feature", feature, learners.get(learner, ()), "of this learner"),
        ("readout", readout, variants, "in this study"),
    ):
        if name not in names:
            raise unknown(kind, name, names, place)
    terms = FORMULAS[quantity]
    used = {UNTRAINED: FLOOR, OFFLINE: CEILING}
    jobs = [
        job
        for job in jobs_of(plan)
        if not job.without and (job.learner == learner or used.get(job.kind) in terms)
    ]
    stores = {job: store_of(plan, root, job) for job in jobs}
    results = [
        job_result(plan, job, store.measurements()) for job, store in stores.items()
    ]
    controls = {(result.job.kind, result.job.seed): result for result in results}
    lines = []
    for run in results:
        # Of the last task nothing can have been forgotten yet.
        last = len(run.tasks) - quantity.startswith("forgotten")
        for j in range(1, last + 1) if run.job.learner == learner else ():
            values = _values(run, (feature, readout), controls, j)
            if values.keys() >= set(terms):
                cells = [values[term] for term in terms]
                texts = [f"{value:.4f}" for value in (*cells, _quantity(*cells))]
                lines.append(
                    (str(run.job.seed), run.job.order, str(j), run.names[j - 1], *texts)
                )
    if not lines:
        raise InputError(
            f"{quantity} of {feature} by {readout} is not measured in {root}"
        )
    tables = read_tables(root)
    notes = where(
        tables["notes"], learner=learner, feature=["", feature], readout=["", readout]
    )
    layer = {"learner": learner, "readout": readout, "feature": feature}
    return (
        Sheet(
            of=", ".join(layer.values()),
            title=f"{quantity}[j] = {_SHOWN[len(terms)].format(*terms)}",
            columns=("seed", "order", "j", "task", *terms, quantity),
            lines=lines,
            after=[*_table_lines(tables, layer, quantity), _MEANS],
        ),
        tuple(note_sentences(notes)),
        [
            path
            for store in stores.values()
            for path in sorted(store.folder.glob("*.npz"))
        ],
    )


def _values(
    run: JobResult,
    layer: tuple[str, str],
    controls: Mapping[tuple[str, int], JobResult],
    j: int,
) -> dict[str, float]:
    """Return the terms of a run that were measured, for the task at position j.

    layer: the feature and the readout.
    """
    T = len(run.tasks)
    has_controls = not run.job.own_network
    rows = {t: scores.accuracy[j - 1] for t, scores in run.rows(*layer).items()}
    values = {
        END: rows.get(T),
        LEARNED: rows.get(j),
        FLOOR: None if has_controls else rows.get(0),
    }
    if j < T and rows.keys() >= set(range(j, T)):
        values[BEST] = max(rows[t] for t in range(j, T))
    for name, kind in ((FLOOR, UNTRAINED), (CEILING, OFFLINE)):
        control = controls.get((kind, run.job.seed)) if has_controls else None
        if control and (scores := control.at_end(*layer)):
            # The controls have the tasks in base order.
            values[name] = scores.accuracy[run.job.tasks[j - 1]]
    return {term: value for term, value in values.items() if value is not None}


def _table_lines(
    tables: Tables, layer: Mapping[str, str], quantity: str
) -> Iterator[str]:
    """Yield the values of the quantity in layers.csv, for each task position and all tasks."""
    for row in records(where(tables["layers"], **layer, quantity=quantity)):
        tasks = "all tasks" if row.task_position is None else f"j = {row.task_position}"
        interval = "" if math.isnan(row.low) else f" [{row.low:.4f}, {row.high:.4f}]"
        yield f"layers.csv, {tasks}: {row.value:.4f}{interval}, trainings: {row.seeds}"
