"""Charts of a report: accuracy by tasks learned and by retraining budget, and losses by epoch."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from figures.report.views import Chart, ChartPoint, ReportFigure
from probe.extensions import spread_over
from probe.tables.layer_text import MEASURED, curves, interval, multiple_of
from probe.tables.matrices import Matrices
from probe.tables.schemas import Tables
from probe.tables.table_file import where

_MOST = 6  # tasks or layers that are drawn beside each other


def course(_: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Yield charts of accuracy by tasks learned: on all tasks so far and, further down, on each."""
    for readout in matrices.readouts:
        for learner in matrices.learners:
            series = {}
            for feature in matrices.features:
                R = matrices.matrix(learner, feature, readout).values
                means = {t: R[t, :t].mean() for t in range(1, len(R))}
                if points := _points(means):
                    series[feature] = points
            if sum(len(points) > 2 for points in series.values()) > 1:
                view = Chart(
                    series=series,
                    across="tasks learned",
                    up="accuracy on these, in %",
                    among=matrices.features,
                )
                yield ReportFigure(learner=learner, readout=readout, view=view)
                yield from _each_task(matrices, learner, readout, list(series))


def _each_task(
    matrices: Matrices, learner: str, readout: str, features: Sequence[str]
) -> Iterator[ReportFigure]:
    """Yield a chart for each layer, with a line for each task from the step that learned it."""
    T = matrices.tasks
    for layer in spread_over(features, _MOST):
        R = matrices.matrix(learner, layer, readout).values
        series = {}
        for j in spread_over(range(1, T), _MOST):
            series[f"task {j}"] = _points({t: R[t, j - 1] for t in range(j, T + 1)})
        view = Chart(
            series=series,
            across="tasks learned",
            up="accuracy on each task, in %",
        )
        if any(len(points) > 1 for points in series.values()):
            yield ReportFigure(
                learner=learner,
                readout=readout,
                title=layer,
                view=view,
                more=True,
            )


def _points(accuracies: Mapping[int, float]) -> list[ChartPoint]:
    """Return accuracies in percent as points, those that were not measured left out."""
    finite = {t: 100 * float(x) for t, x in accuracies.items() if math.isfinite(x)}
    return [ChartPoint(x=t, value=x, tip=f"{x:.1f}") for t, x in finite.items()]


def budget(tables: Tables, matrices: Matrices) -> Iterator[ReportFigure]:
    """Yield charts of accuracies by multiples of the retraining budget, and of losses by epoch."""
    yield from _budgets(tables)
    yield from _losses(tables, matrices.features)


def _budgets(tables: Tables) -> Iterator[ReportFigure]:
    """Yield a chart of accuracies by multiples of the epochs, for each learner and layer."""
    by_budget = curves(tables["layers"], multiple_of)
    groups = by_budget.groupby(["learner", "feature"], sort=False)
    for (learner, feature), curve in groups:
        series = defaultdict(list)
        for name in MEASURED:
            for row in where(curve, quantity=name).itertuples():
                point = ChartPoint(
                    x=row.amount,
                    value=100 * row.value,
                    low=100 * row.low,
                    high=100 * row.high,
                    tip=interval(row),
                )
                series[name].append(point)
        view = Chart(
            series=series,
            across="multiple of the epochs",
            up="accuracy, in %",
            zero=False,
        )
        yield ReportFigure(learner=learner, title=feature, view=view)


def _losses(tables: Tables, among: Sequence[str]) -> Iterator[ReportFigure]:
    """Yield a chart of losses by epoch, a line for each layer; among: all layers, for colors."""
    epochs = tables["retraining"]
    epochs = epochs[epochs["epoch"] > 0]
    for (readout, learner), rows in epochs.groupby(["readout", "learner"], sort=False):
        series = {}
        for feature, losses in rows.groupby("feature", sort=False):
            mean = losses.groupby("epoch", sort=False)["loss"].agg(fmean)
            finite = mean[np.isfinite(mean)]
            series[feature] = [
                ChartPoint(x=x, value=y, tip=f"{y:.3f}") for x, y in finite.items()
            ]
        view = Chart(
            series=series,
            across="epoch",
            up="training loss, in nats",
            among=among,
        )
        if view.drawn:
            yield ReportFigure(learner=learner, readout=readout, view=view)
