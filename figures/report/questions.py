"""Questions that a report asks of the tables of a run, each with its views."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from figures import maps
from figures.maps import Cell, HeatMap
from figures.report import views
from figures.report.courses import budget, course
from figures.report.views import ReportFigure, Section
from figures.tables import unjudged
from probe.extensions import spread_over
from probe.metrics.murata import RETRAIN
from probe.metrics.registry import registered
from probe.tables.cause_text import widest_scope
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
# Of metrics that are no accuracies, nor differences of these.
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
    "floor": "floor: untrained",
    "ceiling": "ceiling: offline",
}
_LACKING = {
    "missing": "missing",
    "never_learned": "never learned",
    "forgotten": "forgotten",
}
_CAUSES = {
    "attributed": "accounts for",
    "broken": "breaks by itself",
    "restored": "returns, only it put back",
}


def sections(runs: Mapping[str, Tables]) -> list[Section]:
    """Return the questions that the tables of runs, by name, can answer.

    The names of runs are shown where there are several.
    """
    matrices = {name: Matrices(tables["measurements"]) for name, tables in runs.items()}
    answered = []
    on_layers = (causes, missing, readable, parted, repaired, retrained)
    for ask in (*on_layers, course, budget, output, diagnostics):
        asked = _together(
            {run: ask(tables, matrices[run]) for run, tables in runs.items()}
        )
        more = [figure for figure in asked if figure.more]
        figures = [figure for figure in asked if not figure.more]
        # That a repair was not measured is an answer, too.
        if figures or (
            ask is repaired and any(len(t["layers"]) for t in runs.values())
        ):
            answered.append(Section(ask.__name__, figures, more))
    return answered


def _together(figures: Mapping[str, Iterable[ReportFigure]]) -> list[ReportFigure]:
    """Return the figures of all runs, ordered by readout, then by learner."""
    several = len(figures) > 1
    of_runs = [
        replace(f, run=run * several) for run, of_run in figures.items() for f in of_run
    ]
    readouts = ["", maps.FIRST, *(figure.readout for figure in of_runs)]
    learners = [figure.learner for figure in of_runs]
    return sorted(
        of_runs, key=lambda f: (readouts.index(f.readout), learners.index(f.learner))
    )


def readable(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what a readout of each layer reaches, between floor and ceiling."""
    for _, rows in tables["layers"].groupby("learner", sort=False):
        readouts = sorted(rows["readout"].unique(), key=lambda name: name != maps.FIRST)
        yield from _reached(where(rows, readout=readouts[:1]), _REACHED | _LACKING)


def repaired(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what a new head on each layer reaches with a few examples of each class."""
    examples = tables["layers"]["readout"].map(per_class_of, na_action="ignore")
    yield from _reached(tables["layers"][examples < math.inf], _REACHED)


def _reached(
    layers: pd.DataFrame, title_of: Mapping[str, str]
) -> Iterator[ReportFigure]:
    """Yield quantities of layers over all tasks, a table for each learner and readout."""
    for (learner, readout), rows in maps.of_layers(where(layers, task_position=None)):
        layers = rows.groupby("feature", sort=False)
        by_quantity = [
            {row.quantity: row for row in layer.itertuples()} for _, layer in layers
        ]
        lines = [
            (name, *(interval(layer.get(q)) for q in title_of), retained(layer))
            for name, layer in zip(
                views.short([*layers.groups]), by_quantity, strict=True
            )
        ]
        view = Sheet(columns=["layer", *title_of.values(), "retained"], lines=lines)
        # It stays, whatever readout a reader chooses for the maps.
        yield ReportFigure(learner=learner, title=readout, view=view)


def missing(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what is missing in each layer after all tasks."""
    for learner, readout, view in maps.missing_maps(
        tables["layers"], tables["statements"]
    ):
        yield ReportFigure(learner=learner, readout=readout, title="missing", view=view)


def causes(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what the change of each layer accounts for, and what its two ends say of it."""
    rows = where(widest_scope(tables["causes"]), score="accuracy", task_position=None)
    for learner, of_learner in rows[rows["feature"] != ""].groupby(
        "learner", sort=False
    ):
        yield ReportFigure(learner=learner, view=_ends(of_learner))


def _ends(causes: pd.DataFrame) -> Sheet:
    """Return the share of each layer over all tasks, its two ends, and the verdict on them."""
    by_depth = causes.sort_values("depth", kind="stable")
    lines = []
    for feature, of_layer in by_depth.groupby("feature", sort=False):
        row_of = {row.quantity: row for row in of_layer.itertuples()}
        cells = (interval(row_of.get(quantity)) for quantity in _CAUSES)
        lines.append((feature, *cells, row_of["attributed"].verdict))
    return Sheet(columns=["layer", *_CAUSES.values(), "verdict"], lines=lines)


def parted(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Ask what was never learned of each task, and what of it was forgotten since."""
    if len(tables["layers"]) and matrices.tasks > 1:
        yield ReportFigure(view=_then_and_now(matrices))
    tasks = count_tasks(tables["layers"])
    doubts = {
        quantity: unjudged(where(tables["statements"], statement=statement))
        for quantity, statement in (
            ("never_learned", "learns_less"),
            ("forgotten", "forgets"),
        )
    }
    for (learner, readout), layers in maps.of_layers(tables["layers"]):
        for quantity, in_doubt in doubts.items():
            withheld = [
                feature for *key, feature in in_doubt if key == [learner, readout]
            ]
            rows = where(layers, quantity=quantity).dropna(subset="value")
            # Where it was measured on all tasks together alone, or at few steps, there
            # is no map.
            if len(rows) > layers["feature"].nunique() * tasks / 2:
                view = maps.layer_map(rows, [quantity], withheld)
                yield ReportFigure(
                    learner=learner,
                    readout=readout,
                    title=_LACKING[quantity],
                    view=view,
                )


def _then_and_now(matrices: Matrices) -> Sheet:
    """Return the output's accuracy on each task right after it, and after all tasks."""
    lines = []
    shown = spread_over(range(matrices.tasks), _MOST_TASKS)
    for learner in matrices.learners:
        R = matrices.R(learner).values
        for when, row in (
            ("right after the task", np.diag(R[1:])),
            ("after all tasks", R[-1]),
        ):
            texts = ("-" if np.isnan(row[k]) else f"{100 * row[k]:.1f}" for k in shown)
            lines.append((f"{views.label(learner)}, {when}", *texts))
    return Sheet(
        columns=["output, in %, by task position", *(str(k + 1) for k in shown)],
        lines=lines,
    )


def retrained(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what retraining reaches: PRA of each layer."""
    pra = where(tables["summary"], metric="pra").sort_values("depth", kind="stable")
    features = list(pra["feature"].unique())
    if len(features) < 2:
        return
    rows = where(
        tables["layers"], readout=RETRAIN, task_position=None, quantity="accuracy"
    )
    intervals = {(row.learner, row.feature): interval(row) for row in rows.itertuples()}
    lines = []
    for learner, of_learner in pra.groupby("learner", sort=False):
        means = {
            row.feature: f"{100 * row.mean:.1f}" for row in of_learner.itertuples()
        }
        cells = (intervals.get((learner, f), means.get(f, "-")) for f in features)
        lines.append((views.label(learner), *cells))
    yield ReportFigure(
        view=Sheet(columns=["PRA in %", *views.short(features)], lines=lines)
    )


def output(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Ask what the metrics of the output say."""
    learners = matrices.learners if matrices.tasks else ()
    yield from (
        ReportFigure(learner=k, view=_matrix(matrices.R(k).values)) for k in learners
    )
    rows = where(tables["metrics"], feature="")
    lines = []
    heads = rows["head"][rows["head"] != ""].nunique()
    # Of metrics that are defined after each task, those after the last.
    name, after = (
        rows["metric"].str.extract(r"^(.*?)(?:\[(\d+)\])?$")[k] for k in (0, 1)
    )
    is_end = (after.isna() | (after == str(matrices.tasks))) & ~name.str.contains(
        "[", regex=False
    )
    of_end = rows.assign(name=name)[is_end]
    scored = of_end["learner"][np.isfinite(of_end["mean"])].unique()
    public = {(metric.paper, metric.name): metric.public for metric in registered()}
    for (paper, metric, head), of_metric in of_end.groupby(
        ["paper", "name", "head"], sort=False
    ):
        row_of = {row.learner: row for row in of_metric.itertuples()}
        unit = _UNITS.get(metric, "points" if (paper, metric) in public else "")
        named = [paper, unit, f"{head}-head" * (head != "" and heads > 1)]
        title = (
            f"{public.get((paper, metric), metric)} ({', '.join(filter(None, named))})"
        )
        style = (100, ".1f") if unit == "points" else (1, ".3g")
        lines.append(
            (title, *(mean_and_interval(row_of.get(name), *style) for name in scored))
        )
    if lines:
        seconds = training_seconds(tables["times"])
        texts = (f"{seconds[name]:.3g}" if name in seconds else "-" for name in scored)
        lines.append(("seconds of training, all tasks", *texts))
        yield ReportFigure(
            view=Sheet(columns=["metric", *map(views.label, scored)], lines=lines)
        )


def _matrix(R: Any) -> HeatMap:
    """Return R as a heat map: the more was lost since the task was learned, the darker.

    If there are many tasks, only some are drawn; its table has all of them.
    """
    steps = range(len(R))
    positions = range(1, len(R))
    titles = ["tasks learned / task position", *map(str, positions)]
    lines = [
        (str(t), *("-" if v != v else f"{100 * v:.1f}" for v in R[t])) for t in steps
    ]
    rows = spread_over(steps, _MOST_TASKS)
    columns = spread_over(positions, _MOST_TASKS)
    return HeatMap(
        rows=[*map(str, rows)],
        columns=[*map(str, columns)],
        cells=[[_cell(R, t, j) for j in columns] for t in rows],
        down="tasks learned",
        numbers=Sheet(columns=titles, lines=lines),
    )


def _cell(R: Any, t: int, j: int) -> Cell:
    """Return the accuracy on task j after t tasks in percent, with the tone of what was lost."""
    value = R[t, j - 1]
    if math.isnan(value):
        return Cell()
    lost = R[j, j - 1] - value
    tone = None if j > t else 0 if math.isnan(lost) else maps.tone(lost)
    text = f"{100 * value:.1f}"
    return Cell(text=text, tone=tone, tip=f"task position {j}, after {t}: {text} %")


def diagnostics(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask how the features changed."""
    for learner, rows in tables["diagnostics"].groupby("learner", sort=False):
        rows = rows[rows["tasks_seen"] == rows["tasks_seen"].max()]
        metrics = list(rows["metric"].unique())
        means = (
            rows.dropna(subset="value")
            .groupby(["feature", "metric"])["value"]
            .agg(fmean)
        )
        texts = means.map("{:.3g}".format).unstack()
        texts = texts.reindex(rows["feature"].unique(), columns=metrics)
        lines = list(texts.fillna("-").itertuples(name=None))
        yield ReportFigure(
            learner=learner, view=Sheet(columns=["layer", *metrics], lines=lines)
        )
