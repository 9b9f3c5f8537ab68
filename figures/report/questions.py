"""Questions that a report asks of the tables of a run: a function yields the views of each.

The name of a function is that of its question in the template `page.html`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from figures import maps
from figures.captions import shortened
from figures.maps import Cell, HeatMap
from figures.report import views
from figures.report.courses import budget, course
from figures.report.views import ReportFigure, Section
from figures.tables import unjudged
from probe.answers.study import FIRST
from probe.extensions import spread_over
from probe.metrics.murata import RETRAIN
from probe.metrics.registry import registered
from probe.tables.layer_text import (
    count_tasks,
    interval,
    mean_and_interval,
    per_class_of,
    retained,
)
from probe.tables.matrices import Matrices
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.summary import training_seconds
from probe.tables.table_file import where

_MOST_TASKS = 14  # of an accuracy matrix that are drawn
# Metrics that are neither accuracies nor differences of accuracies.
_RATIOS = (
    "rem",
    "omega",
    "omega_base",
    "omega_new",
    "omega_all",
    "forgetting_ratio",
    "ms",
    "sss",
    "ce",
)
_UNITS = dict.fromkeys(_RATIOS, "ratio") | {"model_size_mb": "MB"}
_REACHED = {
    "accuracy": "accuracy",
    "floor": "untrained",
    "ceiling": "joint",
}
_STATEMENTS = {"never_learned": "learns_less", "forgotten": "forgets"}


def sections(runs: Mapping[str, Tables]) -> list[Section]:
    """Return the questions that the tables of runs, by name, can answer.

    The names of runs are shown where there are several.
    """
    matrices = {name: Matrices(tables["measurements"]) for name, tables in runs.items()}
    answered = []
    for ask in _QUESTIONS:
        asked = []
        for run, tables in runs.items():
            name = run if len(runs) > 1 else ""
            asked += [
                replace(figure, run=name) for figure in ask(tables, matrices[run])
            ]
        asked = _in_order(asked)
        more = [figure for figure in asked if figure.more]
        figures = [figure for figure in asked if not figure.more]
        if figures:
            answered.append(
                Section(
                    ask.__name__,
                    figures,
                    more,
                )
            )
    return answered


def _in_order(figures: Sequence[ReportFigure]) -> list[ReportFigure]:
    """Return the figures of all runs, ordered by readout, then by learner."""
    readouts = ["", FIRST, *(figure.readout for figure in figures)]
    learners = [figure.learner for figure in figures]
    return sorted(
        figures, key=lambda f: (readouts.index(f.readout), learners.index(f.learner))
    )


def repaired(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Yield tables of what a new head on each layer reaches with a few examples of each class."""
    examples = tables["layers"]["readout"].map(per_class_of, na_action="ignore")
    layers = where(tables["layers"][examples < math.inf], task_position=None)
    for (learner, readout), rows in maps.of_layers(layers):
        names = shortened(rows["feature"].unique())
        groups = rows.groupby("feature", sort=False)
        lines = []
        for name, (_, of_layer) in zip(names, groups, strict=True):
            row_of = {row.quantity: row for row in of_layer.itertuples()}
            cells = (interval(row_of.get(quantity)) for quantity in _REACHED)
            lines.append((name, *cells, retained(row_of)))
        view = Sheet(
            columns=[
                "layer",
                *_REACHED.values(),
                "retained",
            ],
            lines=lines,
        )
        # Without a readout, so that it stays when the reader chooses one for the maps.
        yield ReportFigure(
            learner=learner,
            title=readout,
            view=view,
        )


def missing(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Yield maps of what is missing in each layer after all tasks."""
    for learner, readout, view in maps.missing_maps(
        tables["layers"], tables["statements"]
    ):
        yield ReportFigure(
            learner=learner,
            readout=readout,
            title="missing",
            view=view,
        )


def parted(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Yield a table of the output then and now, and maps of the never learned and the forgotten."""
    if len(tables["layers"]) and matrices.tasks > 1:
        yield ReportFigure(view=_then_and_now(matrices))
    tasks = count_tasks(tables["layers"])
    for (learner, readout), layers in maps.of_layers(tables["layers"]):
        for quantity, statement in _STATEMENTS.items():
            rows = where(layers, quantity=quantity).dropna(subset="value")
            # There is no map if it was measured only on all tasks together, or at few
            # steps.
            if len(rows) > layers["feature"].nunique() * tasks / 2:
                statements = where(tables["statements"], statement=statement)
                withheld = unjudged(
                    statements,
                    learner,
                    readout,
                )
                yield ReportFigure(
                    learner=learner,
                    readout=readout,
                    title=quantity.replace("_", " "),
                    view=maps.layer_map(
                        rows,
                        [quantity],
                        withheld,
                    ),
                )


def _then_and_now(matrices: Matrices) -> Sheet:
    """Return the output's accuracy on each task right after it, and after all tasks."""
    shown = spread_over(range(matrices.tasks), _MOST_TASKS)
    lines = []
    for learner in matrices.learners:
        R = matrices.R(learner).values
        rows = {"right after the task": np.diag(R[1:]), "after all tasks": R[-1]}
        for when, row in rows.items():
            texts = (_percent(row[k]) for k in shown)
            lines.append((f"{views.label(learner)}, {when}", *texts))
    positions = (str(k + 1) for k in shown)
    return Sheet(columns=["output, in %, by task position", *positions], lines=lines)


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def retrained(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Yield a table of what retraining reaches: PRA of each layer, by learner."""
    pra = where(tables["summary"], metric="pra").sort_values("depth", kind="stable")
    features = list(pra["feature"].unique())
    if len(features) < 2:
        return
    text_of = {
        (row.learner, row.feature): f"{100 * row.mean:.1f}" for row in pra.itertuples()
    }
    rows = where(
        tables["layers"],
        readout=RETRAIN,
        task_position=None,
        quantity="accuracy",
    )
    text_of |= {(row.learner, row.feature): interval(row) for row in rows.itertuples()}
    lines = []
    for learner in pra["learner"].unique():
        cells = (text_of.get((learner, feature), "-") for feature in features)
        lines.append((views.label(learner), *cells))
    view = Sheet(columns=["PRA in %", *shortened(features)], lines=lines)
    yield ReportFigure(view=view)


def output(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Yield R of each learner, and a table of the output's metrics after all tasks."""
    for learner in matrices.learners if matrices.tasks else ():
        yield ReportFigure(learner=learner, view=_matrix(matrices.R(learner).values))
    of_output = where(tables["metrics"], feature="")
    # NAME, or NAME[tasks learned]; names with other brackets do not match.
    form = r"^(?P<name>[^\[]*)(?:\[(?P<after>\d+)\])?$"
    parts = of_output["metric"].str.extract(form)
    is_last = parts["after"].isna() | (parts["after"] == str(matrices.tasks))
    rows = of_output.assign(name=parts["name"])
    of_end = rows[is_last & parts["name"].notna()]
    if len(of_end):
        yield ReportFigure(
            view=_metrics_and_seconds(of_end, training_seconds(tables["times"]))
        )


def _metrics_and_seconds(metrics: pd.DataFrame, seconds: Mapping[str, float]) -> Sheet:
    """Return a table of the metrics after the last task and the seconds of training, by learner."""
    learners = metrics["learner"][np.isfinite(metrics["mean"])].unique()
    names = {(metric.paper, metric.name): metric.public for metric in registered()}
    heads = set(metrics["head"]) - {""}
    lines = []
    for (paper, name, head), rows in metrics.groupby(
        ["paper", "name", "head"], sort=False
    ):
        row_of = {row.learner: row for row in rows.itertuples()}
        unit = _UNITS.get(name, "points" if (paper, name) in names else "")
        about = [
            paper,
            unit,
            f"{head}-head" * (head != "" and len(heads) > 1),
        ]
        title = f"{names.get((paper, name), name)} ({', '.join(filter(None, about))})"
        style = (100, ".1f") if unit == "points" else (1, ".3g")
        cells = (mean_and_interval(row_of.get(learner), *style) for learner in learners)
        lines.append((title, *cells))
    texts = (f"{seconds[k]:.3g}" if k in seconds else "-" for k in learners)
    lines.append(("seconds of training, all tasks", *texts))
    return Sheet(columns=["metric", *map(views.label, learners)], lines=lines)


def _matrix(R: Any) -> HeatMap:
    """Return R as a heat map; a cell is darker if more was lost since its task was learned.

    If there are many tasks, only some are drawn; its table has all of them.
    """
    steps = range(len(R))
    positions = range(1, len(R))
    titles = ["tasks learned / task position", *map(str, positions)]
    lines = [(str(tasks_seen), *map(_percent, R[tasks_seen])) for tasks_seen in steps]
    rows = spread_over(steps, _MOST_TASKS)
    columns = spread_over(positions, _MOST_TASKS)
    cells = []
    for tasks_seen in rows:
        row = [_cell(R, tasks_seen, position) for position in columns]
        cells.append(row)
    return HeatMap(
        rows=[*map(str, rows)],
        columns=[*map(str, columns)],
        cells=cells,
        down="tasks learned",
        table=Sheet(columns=titles, lines=lines),
    )


def _cell(R: Any, t: int, j: int) -> Cell:
    """Return the accuracy on task j after t tasks in percent, with the tone of what was lost."""
    value = R[t, j - 1]
    if math.isnan(value):
        return Cell()
    # Without R[j, j], nothing counts as lost: no comparison with NaN is true.
    tone = maps.tone(R[j, j - 1] - value) if j <= t else None
    text = _percent(value)
    return Cell(
        text=text,
        tone=tone,
        tip=f"task position {j}, after {t}: {text} %",
    )


def diagnostics(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Yield a table of the diagnostics of each learner's features after its last task."""
    for learner, rows in tables["diagnostics"].groupby("learner", sort=False):
        rows = rows[rows["tasks_seen"] == rows["tasks_seen"].max()]
        metrics = list(rows["metric"].unique())
        values = rows.dropna(subset="value").groupby(["feature", "metric"])["value"]
        texts = values.agg(fmean).map("{:.3g}".format).unstack()
        texts = texts.reindex(rows["feature"].unique(), columns=metrics)
        lines = list(texts.fillna("-").itertuples(name=None))
        yield ReportFigure(
            learner=learner,
            view=Sheet(columns=["layer", *metrics], lines=lines),
        )


_QUESTIONS: tuple[Callable[[Tables, Matrices], Iterator[ReportFigure]], ...] = (
    missing,
    parted,
    repaired,
    retrained,
    course,
    budget,
    output,
    diagnostics,
)
