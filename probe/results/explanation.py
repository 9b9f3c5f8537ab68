"""Explanations of a layer's quantity: its formula and each accuracy in it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from probe.analysis.quantities import (
    COEFFICIENTS,
    OVER_POSITIONS,
    RATIOS,
    Coefficients,
    Term,
)
from probe.analysis.statements import STATEMENTS
from probe.by_layer.jobs import Job, jobs_of
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED, Plan
from probe.errors import InputError, check_known
from probe.results.predictions import Predictions, main_head
from probe.results.run_directory import read_plan, store_of
from probe.tables.folder import read_tables
from probe.tables.note_text import note_sentences
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

_CONTROLS = {
    Term.FLOOR: UNTRAINED,
    Term.CEILING: OFFLINE,
    Term.OFFLINE: OFFLINE,
}
"""The kind of the control whose accuracy a term is."""

_SYMBOLS = (Term.END, Term.LEARNED, Term.BEST, *_CONTROLS)
"""The terms that are accuracies on one task."""

FORMULAS: Mapping[str, tuple[Coefficients, ...]] = {
    **{
        name: (coefficients,)
        for name, coefficients in COEFFICIENTS.items()
        if coefficients.keys() <= {*_SYMBOLS}
    },
    **{
        name: (COEFFICIENTS[above], COEFFICIENTS[below])
        for name, (above, below) in RATIOS.items()
    },
}
"""The sum of each quantity of accuracies on one task, or the two sums of its ratio."""

Layer = Mapping[str, str]
"""A learner, a readout and a feature, by the columns of layers.csv."""

_SIGNS = {1.0: "+", -1.0: "-"}  # other coefficients are printed as numbers

_MEANS = (
    "A[t,j]: accuracy on the task at position j after t of T tasks; max over t = j .. "
    "T-1; b: of the untrained network; C: of the joint network; offline: of "
    "its output, whatever the layer. Cells are averaged over orders, then over "
    "trainings. Over all tasks each test example weighs the same, and forgotten is the "
    "mean over j < T"
)


def _formula(sums: Sequence[Coefficients]) -> str:
    """Return a sum of terms, or the ratio of two, as text.

    >>> _formula(FORMULAS["retained"])
    '(A[T,j] - b[j]) / (C[j] - b[j])'
    >>> _formula([{Term.END: 1, Term.FLOOR: -0.5}])
    'A[T,j] -0.5 b[j]'
    >>> _formula([{Term.LEARNED: 0.5}])
    '0.5 A[j,j]'
    """
    texts = []
    for coefficients in sums:
        signed = [f"{_SIGNS.get(c, f'{c:+g}')} {t}" for t, c in coefficients.items()]
        texts.append(" ".join(signed).lstrip("+ "))
    return texts[0] if len(texts) == 1 else " / ".join(f"({text})" for text in texts)


def _sum(coefficients: Coefficients, terms: Mapping[Term, float]) -> float:
    """Return the terms' values, each times its coefficient, added up."""
    return sum(c * terms[term] for term, c in coefficients.items())


def _value(sums: Sequence[Coefficients], terms: Mapping[Term, float]) -> float:
    """Return a quantity: its sum of terms, or the ratio of its two sums, NaN if it divides by 0."""
    values = [_sum(coefficients, terms) for coefficients in sums]
    if len(values) == 1:
        return values[0]
    above, below = values
    return above / below if below else math.nan


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
    layer = {"learner": learner, "readout": readout, "feature": feature}
    _check_names(plan, layer, quantity)
    # One sum of terms, or the numerator and the denominator of a ratio.
    sums = FORMULAS[quantity]
    terms = list(dict.fromkeys(term for coefficients in sums for term in coefficients))
    jobs = _jobs_with(terms, plan, learner)
    stores = [store_of(plan, root, job) for job in jobs]
    measurements = [store.measurements() for store in stores]
    predictions = Predictions.of(plan, zip(jobs, measurements, strict=True))
    lines = list(_lines(predictions, layer, quantity, terms))
    if not lines:
        raise InputError(
            f"{quantity} of {feature} by {readout} is not measured in {root}"
        )
    tables = read_tables(root)
    notes = where(
        tables["notes"],
        learner=learner,
        feature=["", feature],
        readout=["", readout],
    )
    sheet = Sheet(
        of=", ".join(layer.values()),
        title=f"{quantity}[j] = {_formula(sums)}",
        columns=("seed", "order", "j", "task", *terms, quantity),
        lines=lines,
        after=[*_table_lines(tables, layer, quantity), _MEANS],
    )
    paths = [path for store in stores for path in sorted(store.folder.glob("*.npz"))]
    return sheet, tuple(note_sentences(notes)), paths


def _jobs_with(terms: Sequence[Term], plan: Plan, learner: str) -> list[Job]:
    """Return the jobs of a learner, and of the controls that the terms are accuracies of.

    Jobs that leave out a task are not among them.
    """
    controls = {kind for term, kind in _CONTROLS.items() if term in terms}
    return [
        job
        for job in jobs_of(plan)
        if not job.without and (job.learner == learner or job.kind in controls)
    ]


def _lines(
    predictions: Predictions,
    layer: Layer,
    quantity: str,
    terms: Sequence[Term],
) -> Iterator[tuple[str, ...]]:
    """Yield the terms and the value of a quantity for each run and task position."""
    for job in predictions.by_learner()[layer["learner"]]:
        last = len(job.tasks) - (quantity in OVER_POSITIONS)
        for j, name in enumerate(predictions.names(job)[:last], 1):
            values = _values(predictions, job, layer, j)
            if values.keys() >= set(terms):
                numbers = [values[term] for term in terms]
                numbers.append(_value(FORMULAS[quantity], values))
                texts = [f"{number:.4f}" for number in numbers]
                yield str(job.seed), job.order, str(j), name, *texts


def _check_names(plan: Plan, layer: Layer, quantity: str) -> None:
    """Raise InputError for a name that is not in the study."""
    features_of_learner = {
        name: planned.features
        for name, planned in plan.learners.items()
        if planned.kind not in CONTROLS
    }
    readouts = [str(v) for name in plan.readouts for v in plan.variants(name)]
    check_known("quantity", quantity, FORMULAS)
    learner = layer["learner"]
    check_known("method", learner, features_of_learner, "in this study")
    features = features_of_learner[learner]
    check_known("feature", layer["feature"], features, "of this learner")
    check_known("readout", layer["readout"], readouts, "in this study")


def _values(
    predictions: Predictions, job: Job, layer: Layer, j: int
) -> dict[Term, float]:
    """Return the terms of a run that were measured, for the task at position j."""
    T = len(job.tasks)
    of_layer = layer["feature"], layer["readout"]
    accuracy = {
        step: predictions.accuracy[row][j - 1]
        for step, row in predictions.rows(job, *of_layer).items()
    }
    values = {Term.END: accuracy.get(T), Term.LEARNED: accuracy.get(j)}
    if j < T and accuracy.keys() >= set(range(j, T)):
        values[Term.BEST] = max(accuracy[step] for step in range(j, T))
    if job.own_network:
        values[Term.FLOOR] = accuracy.get(0)
    else:
        values |= _control_values(predictions, job, layer, j)
    return {term: value for term, value in values.items() if value is not None}


def _control_values(
    predictions: Predictions, job: Job, layer: Layer, j: int
) -> dict[Term, float]:
    """Return the terms that are accuracies of the controls of a run's seed."""
    # The controls have the tasks in base order.
    task = job.tasks[j - 1]
    controls = {c.kind: c for c in predictions.runs if c.seed == job.seed}
    values = {}
    for term, kind in _CONTROLS.items():
        control = controls.get(kind)
        if control is None:
            continue
        feature = layer["feature"]
        if term == Term.OFFLINE:
            feature = predictions.features(control)[-1]
        row = predictions.at_end(control, feature, layer["readout"], main_head(job))
        if row is not None:
            values[term] = predictions.accuracy[row][task]
    return values


def _table_lines(tables: Tables, layer: Layer, quantity: str) -> Iterator[str]:
    """Yield the values of the quantity in layers.csv, for each task position and all tasks."""
    for row in records(where(tables["layers"], **layer, quantity=quantity)):
        tasks = "all tasks" if row.task_position is None else f"j = {row.task_position}"
        interval = "" if math.isnan(row.low) else f" [{row.low:.4f}, {row.high:.4f}]"
        yield f"layers.csv, {tasks}: {row.value:.4f}{interval}, trainings: {row.seeds}"
