"""Questions that a report asks of the tables of a run, each with its views."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from figures import maps
from figures.captions import counted
from figures.maps import Cell, HeatMap
from figures.report import views
from figures.report.courses import budget, course
from figures.report.views import ReportFigure, Section
from probe.extensions import spread_over
from probe.metrics.murata import RETRAIN
from probe.metrics.registry import registered
from probe.tables.layer_text import count_tasks, interval, layer_sheets, mean_and_interval
from probe.tables.matrices import Matrices
from probe.tables.schemas import OFFLINE, Tables
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points
from probe.tables.summary import training_seconds
from probe.tables.table_file import where

_MOST_TASKS = 14  # of an accuracy matrix that are drawn
# Of metrics that are no accuracies, nor differences of these.
_UNITS = dict.fromkeys(("rem", "omega", "omega_base", "omega_new", "omega_all"), "ratio")
_UNITS |= dict.fromkeys(("forgetting_ratio", "ms", "sss", "ce"), "ratio")
_UNITS |= {"model_size_mb": "MB"}
_MOST_STEPS = 6  # numbers of tasks learned between which a reader can choose


def sections(runs: Mapping[str, Tables]) -> list[Section]:
    """Return the questions that the tables of runs, by name, can answer.

    The names of runs are shown where there are several.
    """
    matrices = {name: Matrices(tables["measurements"]) for name, tables in runs.items()}
    answered = []
    for ask in (causes, readable, missing, retrained, parted, course, budget, output, diagnostics):
        asked = _together({run: ask(tables, matrices[run]) for run, tables in runs.items()})
        more = [figure for figure in asked if figure.more]
        if figures := [figure for figure in asked if not figure.more]:
            answered.append(Section(ask.__name__, figures, more))
    return answered


def _together(figures: Mapping[str, Iterable[ReportFigure]]) -> list[ReportFigure]:
    """Return the figures of all runs, ordered by readout, then by learner."""
    several = len(figures) > 1
    of_runs = [replace(f, run=run * several) for run, of_run in figures.items() for f in of_run]
    readouts = [maps.FIRST, *(figure.readout for figure in of_runs)]
    learners = [figure.learner for figure in of_runs]
    return sorted(of_runs, key=lambda f: (readouts.index(f.readout), learners.index(f.learner)))


def readable(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what a readout of each layer reaches, between floor and ceiling."""
    layers = tables["layers"]
    first = sorted(layers["readout"].unique(), key=lambda name: name != maps.FIRST)[:1]
    of_first: Tables = {**tables, "layers": where(layers, readout=first)}
    for sheet in layer_sheets(of_first):
        yield ReportFigure(learner=sheet.of, readout=first[0], view=sheet)


def missing(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Ask what is missing in each layer: after all tasks and, in further figures, after fewer."""
    figures, earlier = [], list[ReportFigure]()
    for learner, readout, _, view in maps.missing_maps(tables["layers"], tables["statements"]):
        figures.append(ReportFigure(learner=learner, readout=readout, view=view))
        earlier += _earlier(matrices, learner, readout, view.rows)
    yield from (replace(f, tasks_seen=maps.ALL if earlier else "") for f in figures)
    yield from (replace(f, more=True) for f in earlier)


def causes(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what the change of each layer cost; beside it, what a readout of each layer forgot."""
    for learner, readout, title, view in maps.cause_maps(
        tables["causes"], tables["layers"], tables["statements"]
    ):
        titled = f"{title} {readout}" if readout else title
        yield ReportFigure(learner=learner, title=titled, view=view)


def _earlier(
    matrices: Matrices, learner: str, readout: str, features: Sequence[str]
) -> Iterator[ReportFigure]:
    """Yield the same after fewer tasks, on the tasks learned by then, where it was measured."""
    # Tables of layers may name features and readouts without measurements.
    rows = [f for f in features if f in matrices.features and readout in matrices.readouts]
    missing = [
        matrices.ceiling(learner, f, readout) - matrices.matrix(learner, f, readout).values
        for f in rows
    ]
    for t in spread_over(range(1, matrices.tasks), _MOST_STEPS):
        cells = [
            [
                Cell.lost(value, f"{f}, task position {j}, after {t}: missing {points(value)}")
                for j, value in enumerate(values[t, :t].tolist(), 1)
            ]
            for f, values in zip(rows, missing, strict=True)
        ]
        if sum(row[0].tone is not None for row in cells) > 1:
            title = f"after {counted(t, 'task')}"
            view = HeatMap(rows=rows, columns=[*map(str, range(1, t + 1))], cells=cells)
            yield ReportFigure(
                learner=learner, readout=readout, title=title, tasks_seen=str(t), view=view
            )


def parted(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask how much was forgotten, and how much was never learned."""
    tasks = count_tasks(tables["layers"])
    for (learner, readout), layers in maps.of_layers(tables["layers"]):
        # The output loses far more than any layer before it, which would all lie at 0 then.
        features = list(layers["feature"].unique())[:-1]
        rows = where(layers, task_position=None, feature=features)
        rows, series = rows.dropna(subset="value"), {}
        for quantity, shift in (("never_learned", -0.15), ("forgotten", 0.15)):
            if points_of := [
                views.ChartPoint.of_layer(1 + features.index(row.feature) + shift, row)
                for row in where(rows, quantity=quantity).itertuples()
            ]:
                series[quantity.replace("_", " ")] = points_of
        if series:
            up = "points of accuracy"
            view = views.Chart(series=series, across="layer", up=up, names=features)
            yield ReportFigure(learner=learner, readout=readout, view=view)
        never = where(layers, quantity="never_learned").dropna(subset="value")
        # Where it was measured on all tasks together alone, or at few steps, there is no map.
        if len(never) > len(layers["feature"].unique()) * tasks / 2:
            by_task = maps.layer_map(never, ["never_learned"])
            yield ReportFigure(
                learner=learner, readout=readout, title="never learned, by task", view=by_task
            )


def retrained(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask what retraining reaches: PRA of each layer and, for each layer, F1 of each task."""
    scores = where(tables["summary"], metric=("pra", "f1")).sort_values("depth", kind="stable")
    pra = where(scores, metric="pra")
    features = list(pra["feature"].unique())
    if len(features) < 2:
        return
    rows = where(tables["layers"], readout=RETRAIN, task_position=None, quantity="accuracy")
    intervals = {(row.learner, row.feature): interval(row) for row in rows.itertuples()}
    lines = []
    for learner, of_learner in pra.groupby("learner", sort=False):
        means = {row.feature: f"{100 * row.mean:.1f}" for row in of_learner.itertuples()}
        cells = (intervals.get((learner, f), means.get(f, "-")) for f in features)
        lines.append((views.label(learner), *cells))
    sheet = Sheet(title="", columns=["PRA in %", *views.short(features)], lines=lines)
    yield ReportFigure(view=sheet)
    yield from _f1_by_task(where(scores, metric="f1"))


def _f1_by_task(rows: pd.DataFrame) -> Iterator[ReportFigure]:
    """Yield the F1 of each task downstream of each layer, for each learner and control."""
    shares = {
        learner: of_learner.pivot_table("mean", "feature", "task_position", sort=False)
        for learner, of_learner in rows.groupby("learner", sort=False)
    }
    for learner, f1 in shares.items():
        missing = (shares.get(OFFLINE, f1) - f1).reindex_like(f1)
        yield ReportFigure(
            learner=learner,
            title="F1 of each task",
            view=HeatMap(
                rows=views.short(list(f1.index)),
                columns=[f"{j:.0f}" for j in sorted(f1.columns)],
                cells=[
                    [
                        _percent(f1.loc[at, j], missing.loc[at, j], f"task position {j:.0f}")
                        for j in sorted(f1.columns)
                    ]
                    for at in f1.index
                ],
            ),
        )


def output(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Ask what the metrics of the output say."""
    learners = matrices.learners if matrices.tasks else ()
    yield from (ReportFigure(learner=k, view=_matrix(matrices.R(k).values)) for k in learners)
    rows = where(tables["metrics"], feature="")
    lines, heads = [], rows["head"][rows["head"] != ""].nunique()
    # Of metrics that are defined after each task, those after the last.
    name, after = (rows["metric"].str.extract(r"^(.*?)(?:\[(\d+)\])?$")[k] for k in (0, 1))
    is_end = (after.isna() | (after == str(matrices.tasks))) & ~name.str.contains("[", regex=False)
    of_end = rows.assign(name=name)[is_end]
    scored = of_end["learner"][np.isfinite(of_end["mean"])].unique()
    public = {(metric.paper, metric.name): metric.public for metric in registered()}
    for (paper, metric, head), of_metric in of_end.groupby(["paper", "name", "head"], sort=False):
        row_of = {row.learner: row for row in of_metric.itertuples()}
        unit = _UNITS.get(metric, "points" if (paper, metric) in public else "")
        named = [paper, unit, f"{head}-head" * (head != "" and heads > 1)]
        title = f"{public.get((paper, metric), metric)} ({', '.join(filter(None, named))})"
        style = (100, ".1f") if unit == "points" else (1, ".3g")
        lines.append((title, *(mean_and_interval(row_of.get(name), *style) for name in scored)))
    if lines:
        seconds = training_seconds(tables["times"])
        texts = (f"{seconds[name]:.3g}" if name in seconds else "-" for name in scored)
        lines.append(("seconds of training, all tasks", *texts))
        columns = ["metric", *map(views.label, scored)]
        yield ReportFigure(view=Sheet(title="", columns=columns, lines=lines))


def _matrix(R: Any) -> HeatMap:
    """Return R as a heat map: the more was lost since the task was learned, the darker.

    If there are many tasks, only some are drawn; its table has all of them.
    """
    steps, positions = range(len(R)), range(1, len(R))
    titles = ["tasks learned / task position", *map(str, positions)]
    lines = [(str(t), *("-" if v != v else f"{100 * v:.1f}" for v in R[t])) for t in steps]
    rows, columns = spread_over(steps, _MOST_TASKS), spread_over(positions, _MOST_TASKS)
    return HeatMap(
        rows=[*map(str, rows)],
        columns=[*map(str, columns)],
        cells=[
            [
                _percent(
                    R[t, j - 1], R[j, j - 1] - R[t, j - 1], f"task position {j}, after {t}", j > t
                )
                for j in columns
            ]
            for t in rows
        ],
        down="tasks learned",
        numbers=Sheet(title="", columns=titles, lines=lines),
    )


def _percent(value: float, lost: float, at: str, to_come: bool = False) -> Cell:
    """Return the cell of a score in percent, with the tone of what was lost of it."""
    if math.isnan(value):
        return Cell()
    tone = 0 if to_come or math.isnan(lost) else maps.tone(lost)
    tip = f"{at}: {100 * value:.1f} %"
    return Cell(text=f"{100 * value:.1f}", tone=tone, weak=to_come, tip=tip)


def diagnostics(tables: Tables, _: Matrices) -> Iterator[ReportFigure]:
    """Ask how the features changed."""
    for learner, rows in tables["diagnostics"].groupby("learner", sort=False):
        rows = rows[rows["tasks_seen"] == rows["tasks_seen"].max()]
        metrics = list(rows["metric"].unique())
        means = rows.dropna(subset="value").groupby(["feature", "metric"])["value"].agg(fmean)
        texts = means.map("{:.3g}".format).unstack()
        texts = texts.reindex(rows["feature"].unique(), columns=metrics)
        lines = list(texts.fillna("-").itertuples(name=None))
        table = Sheet(title="", columns=["layer", *metrics], lines=lines)
        yield ReportFigure(learner=learner, view=table)
