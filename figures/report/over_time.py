"""The questions that are asked over time: over tasks learned, and over epochs of retraining."""

import math
from collections.abc import Iterable, Iterator
from statistics import fmean

from figures.report.section import Section, Shown
from figures.report.views import Chart, Point, Series, evenly
from probe.tables.budget_text import MEASURED, budget_curves
from probe.tables.folder import Tables
from probe.tables.matrices import Matrices
from probe.tables.rows import grouped

_MOST = 6  # tasks, layers or steps that are drawn beside each other


def course(_: Tables, matrices: Matrices) -> Section:
    """Ask when it happened: of all tasks learned so far and, folded, of each task."""
    shown, more = [], list[Shown]()
    # Without a task there are no accuracies, but F1 alone, as in tables of earlier versions.
    for readout in matrices.readouts if matrices.tasks else ():
        for learner in matrices.learners:
            series = list(_courses(matrices, learner, readout, matrices.features))
            if sum(len(one.points) > 2 for one in series) > 1:
                view = Chart(series=series, across="tasks learned", up="accuracy on these, in %")
                shown.append(Shown(learner=learner, readout=readout, view=view))
                more += _each_task(matrices, learner, readout, [one.name for one in series])
    return Section(
        name="course",
        question="When did it happen?",
        caption=(
            "Accuracy of a readout of each layer on the tasks learned so far, by their number; the "
            "mean over orders and seeds. The output is the network itself."
        ),
        shown=shown,
        folded="Each task on its own: when did it fall?",
        more=more,
    )


def _courses(m: Matrices, learner: str, readout: str, features: Iterable[str]) -> Iterator[Series]:
    for feature in features:
        values = m.matrix(learner, feature, readout).values
        known = _points((t, float(values[t, :t].mean())) for t in range(1, m.tasks + 1))
        if known:
            yield Series(name=feature, points=known)


def _each_task(m: Matrices, learner: str, readout: str, features: list[str]) -> Iterator[Shown]:
    """Yield a chart for each layer, with a line for each task from when it was learned."""
    for feature in evenly(features, _MOST):
        values = m.matrix(learner, feature, readout).values
        series = [
            Series(
                name=f"task {j}",
                points=_points((t, float(values[t, j - 1])) for t in range(j, m.tasks + 1)),
            )
            for j in evenly(range(1, m.tasks), _MOST)
        ]
        view = Chart(series=series, across="tasks learned", up="accuracy on each task, in %")
        if any(len(one.points) > 1 for one in series):
            yield Shown(learner=learner, readout=readout, title=feature, view=view)


def _points(values: Iterable[tuple[int, float]]) -> list[Point]:
    return [Point(x=x, value=100 * v, tip=f"{100 * v:.1f}") for x, v in values if math.isfinite(v)]


def budget(tables: Tables, _: Matrices) -> Section:
    """Ask what the retraining budget changes: accuracies by multiples of it, and losses."""
    curves = list(_budgets(tables))
    return Section(
        name="budget",
        question="What does the retraining budget change?",
        caption=(
            "Accuracy on all tasks after multiples of the epochs of retraining, also for "
            "an untrained network (floor) and one trained on all tasks at once (ceiling): a "
            "line that still rises has not converged. "
            * bool(curves)
            + "Training loss of the retrained layers by epoch, the mean over orders and seeds: a "
            "layer with a curve that still falls at its end has not converged, and is not judged."
        ),
        shown=[*curves, *_losses(tables)],
    )


def _budgets(tables: Tables) -> Iterator[Shown]:
    for (learner, feature), curve in budget_curves(tables.get("layers", ())).items():
        points = {
            name: [Point.of_layer(k, own[name]) for k, own in curve.items() if name in own]
            for name in MEASURED
        }
        series = [Series(name=name, points=each) for name, each in points.items() if each]
        across, up = "multiple of the epochs", "accuracy, in %"
        view = Chart(series=series, across=across, up=up, zero=False)
        yield Shown(learner=learner, title=feature, view=view)


def _losses(tables: Tables) -> Iterator[Shown]:
    for (readout, learner), own in grouped(
        tables.get("retraining", ()), "readout", "learner"
    ).items():
        series = [
            Series(
                name=feature,
                points=[
                    Point(x=epoch, value=v, tip=f"{v:.3f}")
                    for epoch, some in grouped(rows, "epoch").items()
                    if epoch and math.isfinite(v := fmean(row.loss for row in some))
                ],
            )
            for feature, rows in grouped(own, "feature").items()
        ]
        view = Chart(series=series, across="epoch", up="training loss, in nats")
        yield Shown(learner=learner, readout=readout, view=view)
