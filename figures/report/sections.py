"""The questions that a report asks of the tables of a run, each with its views."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from figures.labels import counted
from figures.report.over_time import budget, course
from figures.report.section import ALL, FIRST, Question, Section, Shown, interval, label
from figures.report.views import Cell, Chart, HeatMap, Point, Series, evenly
from probe.tables.folder import Tables
from probe.tables.matrices import Matrices
from probe.tables.rows import CONTROLS, LayerRow, grouped
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points
from probe.tables.summary import training_seconds

_At = Mapping[tuple[str, int | None, str], LayerRow]  # by feature, place and quantity
_WITHHELD = ("not converged", "near chance", "no ceiling")
_PARTS = ("missing", "never_learned", "forgotten", "accuracy", "floor", "ceiling")
_TASKS = 14  # of an accuracy matrix that are drawn
_MOST = 6  # numbers of tasks learned between which a reader can choose


def sections(runs: Mapping[str, Tables]) -> list[Section]:
    """Return the questions that the tables of runs can answer, in the order of `_QUESTIONS`.

    runs: by name, which is shown where there are several.
    """
    matrices = {name: Matrices(tables["measurements"]) for name, tables in runs.items()}
    asked = []
    for ask in _QUESTIONS:
        each = {name: ask(tables, matrices[name]) for name, tables in runs.items()}
        section = next((one for one in each.values() if one.shown), None)
        if section:
            shown, more = (
                _together({run: getattr(one, views) for run, one in each.items()})
                for views in ("shown", "more")
            )
            asked.append(replace(section, shown=shown, more=more))
    return asked


def _together(views: Mapping[str, Sequence[Shown]]) -> list[Shown]:
    """Return the views of all runs: those of a readout together, then those of a learner."""
    runs = views.items()
    named = [replace(one, run=run if len(views) > 1 else "") for run, own in runs for one in own]
    readouts, learners = [FIRST, *(o.readout for o in named)], [o.learner for o in named]
    return sorted(
        _alike(named), key=lambda o: (readouts.index(o.readout), learners.index(o.learner))
    )


def _alike(shown: Sequence[Shown]) -> Iterator[Shown]:
    """Yield views, the charts that have 0 on the axis of values with the same axis."""
    with_0 = [isinstance(one.view, Chart) and one.view.zero for one in shown]
    axes = [one.view.y for one, yes in zip(shown, with_0, strict=True) if yes]
    ends = [end for each in axes for end in (each.low, each.high)]
    for one, yes in zip(shown, with_0, strict=True):
        yield replace(one, view=replace(one.view, also=ends)) if yes else one


def missing(tables: Tables, matrices: Matrices) -> Section:
    """Ask what is missing in each layer: after all tasks and, folded, after fewer."""
    barred = {
        (row.learner, row.readout, row.feature)
        for row in tables.get("statements", ())
        if row.verdict in _WITHHELD
    }
    shown, earlier = [], list[Shown]()
    for (learner, readout), own in _of_layers(tables):
        features, at = _features(own), {(r.feature, r.task_position, r.quantity): r for r in own}
        places = [*sorted({row.task_position for row in own if row.task_position}), None]
        no = [(learner, readout, f) in barred for f in features]
        cells = [[_cell(at, f, p, of) for p in places] for f, of in zip(features, no, strict=True)]
        columns, numbers = [str(p or "all") for p in places], _numbers(at, features, places)
        view = HeatMap(rows=features, columns=columns, cells=cells, numbers=numbers)
        if any(cell.tone is not None for row in cells for cell in row):
            shown.append(Shown(learner=learner, readout=readout, view=view))
            earlier += _earlier(matrices, learner, readout, features)
    last = ALL if earlier else ""
    return Section(
        name="missing",
        question="What is missing in each layer?",
        caption=(
            "Points of accuracy by which a readout of the layer is below the ceiling, the same "
            "readout of a network trained on all tasks at once. Columns: tasks in the order in "
            "which they were learned. Orange: below the ceiling; purple: above it. "
            "Italic: the 95 % interval includes 0. Striped: in doubt (see caveats)."
        ),
        shown=[replace(one, tasks_seen=last) for one in shown],
        folded="After fewer tasks (means over orders and seeds, without intervals)",
        more=earlier,
    )


def _cell(at: _At, f: str, p: int | None, no: bool) -> Cell:
    known = {name: at[f, p, name] for name in _PARTS if (f, p, name) in at}
    if "missing" not in known:
        return Cell()
    row = known["missing"]
    told = "; ".join(f"{name.replace('_', ' ')} {interval(q)}" for name, q in known.items())
    where = f"task position {p}" if p else "all tasks"
    tip = f"{f}, {where}: {told}; {counted(row.seeds, 'seed')}"
    return Cell.missing(row.value, tip, weak=row.low <= 0 <= row.high, barred=no)


def _numbers(at: _At, features: Sequence[str], places: Sequence[int | None]) -> Sheet:
    keys = [(f, p) for f in features for p in places]
    lines = [(f, str(p or "all"), *(interval(at.get((f, p, q))) for q in _PARTS)) for f, p in keys]
    columns = ["layer", "task position", *(name.replace("_", " ") for name in _PARTS)]
    return Sheet(title="", columns=columns, lines=lines)


def _earlier(m: Matrices, learner: str, readout: str, features: Sequence[str]) -> Iterator[Shown]:
    """Yield the same after fewer tasks, of those learned by then, where layers were measured."""
    # Tables of layers may name features and readouts of which there are no rows.
    known = [f for f in features if f in m.features and readout in m.readouts]
    lacking = {
        f: m.ceiling(learner, f, readout) - m.matrix(learner, f, readout).values for f in known
    }
    for t in evenly(range(1, m.tasks), _MOST):
        cells = [
            [_early(f, t, j, float(values[t, j - 1])) for j in range(1, t + 1)]
            for f, values in lacking.items()
        ]
        if sum(row[0].tone is not None for row in cells) > 1:
            columns = [*map(str, range(1, t + 1))]
            view = HeatMap(rows=known, columns=columns, cells=cells)
            title = f"after {counted(t, 'task')}"
            yield Shown(learner=learner, readout=readout, title=title, tasks_seen=str(t), view=view)


def _early(feature: str, t: int, j: int, value: float) -> Cell:
    told = f"{feature}, task position {j}, after {t}: missing {points(value)}"
    return Cell.missing(value, told)


def parted(tables: Tables, _: Matrices) -> Section:
    """Ask what was forgotten, and what never learned."""
    shown = []
    for (learner, readout), own in _of_layers(tables):
        # The output loses far more than any layer before it, which would all lie at 0 then.
        features = _features(own)[:-1]
        series = [
            Series(
                name=name.replace("_", " "),
                points=[
                    Point.of_layer(1 + features.index(row.feature) + shift, row)
                    for row in own
                    if (row.quantity, row.task_position) == (name, None)
                    and row.feature in features
                    and math.isfinite(row.value)
                ],
            )
            for name, shift in (("never_learned", -0.15), ("forgotten", 0.15))
        ]
        known = [one for one in series if one.points]
        view = Chart(series=known, across="layer", up="points of accuracy", names=features)
        if known:
            shown.append(Shown(learner=learner, readout=readout, view=view))
    return Section(
        name="parted",
        question="Forgotten, or never learned?",
        caption=(
            "Never learned: points below the ceiling when a task had just been learned, the mean "
            "of all tasks. Forgotten: points lost since then, the mean of all tasks but the last. "
            "Lines are 95 % intervals. The output, which loses far more, is in the tables above."
        ),
        shown=shown,
    )


def output(tables: Tables, matrices: Matrices) -> Section:
    """Ask what the metrics of the output say."""
    learners = matrices.learners if matrices.tasks else ()
    shown = [Shown(learner=name, view=_matrix(matrices.R(name).values)) for name in learners]
    rows = [row for row in tables.get("metrics", ()) if not row.feature]
    scored = list(dict.fromkeys(row.learner for row in rows if math.isfinite(row.mean)))
    lines = [
        (f"{metric} ({paper}{', ' + head if head else ''})", *_beside(own, scored))
        for (paper, metric, head), own in grouped(rows, "paper", "metric", "head").items()
        if "[" not in metric
    ]
    if lines:
        seconds = training_seconds(tables.get("times", ()))
        spent = (f"{seconds[name]:.3g}" if name in seconds else "-" for name in scored)
        lines.append(("seconds of training, all tasks", *spent))
        table = Sheet(title="", columns=["metric", *map(label, scored)], lines=lines)
        shown.append(Shown(view=table))
    return Section(
        name="output",
        question="What do the metrics of the output say?",
        caption=(
            "The accuracy matrix R in %: a row for each number of tasks learned, a column for each "
            "task position (some, if there are many); stronger colors are more accurate, italics "
            "are tasks not learned yet. Below, the metrics of the literature, mean ± standard "
            "deviation over seeds."
        ),
        shown=shown,
    )


def _matrix(values: Any) -> HeatMap:
    """Return R as a heat map: its tones are accuracies, those of tasks not yet learned pale.

    Of many tasks some are drawn; all of them are in its table.
    """
    steps, places = range(len(values)), range(1, len(values))
    titles = ["tasks learned / task position", *map(str, places)]
    lines = [(str(t), *("-" if v != v else f"{100 * v:.1f}" for v in values[t])) for t in steps]
    rows, columns = evenly(steps, _TASKS), evenly(places, _TASKS)
    return HeatMap(
        rows=[*map(str, rows)],
        columns=[*map(str, columns)],
        cells=[[_accuracy(t, j, float(values[t, j - 1])) for j in columns] for t in rows],
        down="tasks learned",
        numbers=Sheet(title="", columns=titles, lines=lines),
    )


def _accuracy(t: int, j: int, value: float) -> Cell:
    if math.isnan(value):
        return Cell()
    tip = f"task position {j}, after {t}: {100 * value:.1f} %"
    return Cell(text=f"{100 * value:.0f}", tone=round(7 * value), weak=j > t, tip=tip)


def _beside(rows: Iterable[Any], learners: Iterable[str]) -> Iterator[str]:
    """Yield a metric of each learner, a dash where it was not measured."""
    own = {row.learner: row for row in rows}
    for name in learners:
        row = own.get(name)
        if row is None or math.isnan(row.mean):
            yield "-"
        else:
            yield f"{row.mean:.3g}" + ("" if math.isnan(row.std) else f" ± {row.std:.2g}")


def diagnostics(tables: Tables, _: Matrices) -> Section:
    """Ask how the features changed."""
    shown = []
    for learner, rows in grouped(tables.get("diagnostics", ()), "learner").items():
        last = max(row.tasks_seen for row in rows)
        own = [row for row in rows if row.tasks_seen == last]
        measures = list(dict.fromkeys(row.metric for row in own))
        lines = [
            (feature, *_means(of_feature, measures))
            for feature, of_feature in grouped(own, "feature").items()
        ]
        table = Sheet(title="", columns=["layer", *measures], lines=lines)
        shown.append(Shown(learner=learner, view=table))
    return Section(
        name="diagnostics",
        question="How did the features themselves change?",
        caption=(
            "After the last task, the mean over orders and seeds: the units of a layer (how many "
            "numbers it computes), the share of them that are dead (never change), its effective "
            "rank, and its similarity (debiased linear CKA, 1 = the same) to the same layer right "
            "after a task (step-1, ...), untrained and trained offline."
        ),
        shown=shown,
    )


def _means(rows: Iterable[Any], measures: Iterable[str]) -> Iterator[str]:
    own = grouped(rows, "metric")
    for name in measures:
        values = [row.value for row in own.get(name, ()) if math.isfinite(row.value)]
        yield f"{fmean(values):.3g}" if values else "-"


def _of_layers(tables: Tables) -> Iterator[tuple[tuple[str, str], list[LayerRow]]]:
    """Yield the rows of each continual learner's layers, by depth; readout after readout."""
    found = grouped(tables.get("layers", ()), "learner", "readout")
    readouts = list(dict.fromkeys(readout for _, readout in found))
    for learner, readout in sorted(found, key=lambda key: readouts.index(key[1])):
        if learner not in CONTROLS:
            rows = sorted(found[learner, readout], key=lambda row: row.depth)
            yield (learner, readout), rows


def _features(rows: Iterable[LayerRow]) -> list[str]:
    return list(dict.fromkeys(row.feature for row in rows))


_QUESTIONS: tuple[Question, ...] = (missing, parted, course, budget, output, diagnostics)
