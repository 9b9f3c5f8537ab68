"""The questions that a report asks of the tables of a run, each with its views."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from figures.appearance import learner_appearances
from figures.report.views import Cell, Chart, HeatMap, Point, Series, by, tone
from probe.tables.folder import Tables
from probe.tables.matrices import Matrices
from probe.tables.rows import CONTROLS, LayerRow
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points
from probe.tables.summary import training_seconds

_WITHHELD = ("not converged", "near chance", "no ceiling")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A view of one learner and readout, empty where it is of all of them.

    run: the name of the run, empty where the report is of one.
    """

    run: str = ""
    learner: str = ""
    readout: str = ""
    view: Any


@dataclass(frozen=True, kw_only=True)
class Section:
    """A question, with a caption that says what is drawn, and its views."""

    name: str
    question: str
    caption: str
    shown: Sequence[Shown]


def sections(runs: Mapping[str, Tables]) -> list[Section]:
    """Return the questions that the tables of runs can answer, in the order of `_QUESTIONS`.

    runs: by name, which is shown where there are several.
    """
    asked = []
    for ask in _QUESTIONS:
        each = {name: ask(tables) for name, tables in runs.items()}
        shown = [
            replace(one, run=name if len(runs) > 1 else "")
            for name, section in each.items()
            for one in section.shown
        ]
        if shown:
            asked.append(replace(next(iter(each.values())), shown=shown))
    return asked


def label(learner: str) -> str:
    """Return a learner's name in print."""
    return learner_appearances([learner])[learner].label


def interval(row: LayerRow) -> str:
    """Return a quantity in points, with its interval where it has one."""
    value = points(row.value)
    if math.isnan(row.low):
        return value
    return f"{value} [{points(row.low)}, {points(row.high)}]"


def missing(tables: Tables) -> Section:
    """Ask which layer lacks what."""
    barred = {
        (row.learner, row.readout, row.feature)
        for row in tables.get("statements", ())
        if row.verdict in _WITHHELD
    }
    shown = []
    for (learner, readout), own in _of_layers(tables):
        features, places = _features(own), sorted({row.place for row in own if row.place})
        at = {(row.feature, row.place, row.quantity): row for row in own}
        cells = [
            [_cell(at, f, place, (learner, readout, f) in barred) for place in (*places, None)]
            for f in features
        ]
        view = HeatMap(
            rows=features,
            columns=[*map(str, places), "all"],
            cells=cells,
            down="layer",
            across="task position",
        )
        if any(cell.tone is not None for row in cells for cell in row):
            shown.append(Shown(learner=learner, readout=readout, view=view))
    return Section(
        name="missing",
        question="Which layer lacks what?",
        caption=(
            "Points of accuracy that a readout downstream of the layer lacks, against the same "
            "layer of the network trained on all tasks at once (the ceiling), by position of the "
            "task in the order in which it was learned. Grey: the 95 % interval holds 0. "
            "Striped: not judged. Purple: above the ceiling."
        ),
        shown=shown,
    )


def _cell(at: dict[tuple[str, int | None, str], LayerRow], f: str, p: int | None, no: bool) -> Cell:
    row = at.get((f, p, "missing"))
    if row is None or math.isnan(row.value):
        return Cell()
    names = ("missing", "never_learned", "forgotten", "accuracy", "floor", "ceiling")
    known = [
        f"{name.replace('_', ' ')} {interval(at[f, p, name])}"
        for name in names
        if (f, p, name) in at
    ]
    where = f"task position {p}" if p else "all tasks"
    tip = f"{f}, {where}: {'; '.join(known)}; {row.seeds} seed{'s' * (row.seeds > 1)}"
    weak = row.low <= 0 <= row.high
    return Cell(text=points(row.value), tone=tone(row.value), weak=weak, barred=no, tip=tip)


def parted(tables: Tables) -> Section:
    """Ask what was forgotten, and what never learned."""
    shown = []
    for (learner, readout), own in _of_layers(tables):
        # The output loses far more than any layer before it, which would all lie at 0 then.
        features = _features(own)[:-1]
        series = [
            Series(
                name=name.replace("_", " "),
                points=[
                    Point(
                        x=1 + features.index(row.feature) + shift,
                        value=100 * row.value,
                        low=100 * row.low,
                        high=100 * row.high,
                        tip=interval(row),
                    )
                    for row in own
                    if (row.quantity, row.place) == (name, None)
                    and row.feature in features
                    and math.isfinite(row.value)
                ],
            )
            for name, shift in (("never_learned", -0.1), ("forgotten", 0.1))
        ]
        view = Chart(
            series=series, across="layer", up="points of accuracy", names=features, joined=False
        )
        if all(one.points for one in series):
            shown.append(Shown(learner=learner, readout=readout, view=view))
    return Section(
        name="parted",
        question="Forgotten, or never learned?",
        caption=(
            "Never learned: what a layer lacked of a task when the task had just been learned, "
            "against the ceiling, the mean of all tasks. Forgotten: what it has lost since then, "
            "the mean of the tasks before the last. Lines are 95 % intervals. The output, which "
            "loses far more, is in the tables."
        ),
        shown=shown,
    )


def course(tables: Tables) -> Section:
    """Ask when it happened."""
    matrices = Matrices(tables["rows"])
    shown = []
    # Without a task there are no accuracies, but F1 alone, as in tables of earlier versions.
    for readout in matrices.readouts if matrices.tasks else ():
        for learner in matrices.learners:
            series = list(_courses(matrices, learner, readout, matrices.features))
            if sum(len(one.points) > 2 for one in series) > 1:
                view = Chart(series=series, across="tasks learned", up="accuracy on these, in %")
                shown.append(Shown(learner=learner, readout=readout, view=view))
    return Section(
        name="course",
        question="When did it happen?",
        caption=(
            "Accuracy downstream of each layer on the tasks learned so far, by the number of tasks "
            "learned; the mean over orders and seeds. The output is the network itself."
        ),
        shown=shown,
    )


def _courses(m: Matrices, learner: str, readout: str, features: Iterable[str]) -> Iterator[Series]:
    for feature in features:
        values = m.matrix(learner, feature, readout).values
        means = [(t, 100 * float(values[t, :t].mean())) for t in range(1, m.tasks + 1)]
        known = [Point(x=t, value=v, tip=f"{v:.1f}") for t, v in means if math.isfinite(v)]
        if known:
            yield Series(name=feature, points=known)


def budget(tables: Tables) -> Section:
    """Ask whether the retraining had enough."""
    shown = []
    found = by(tables.get("retraining", ()), "readout", "learner")
    for (readout, learner), own in found.items():
        series = [
            Series(
                name=feature,
                points=[
                    Point(x=epoch, value=v, tip=f"{v:.3f}")
                    for (epoch,), some in by(rows, "epoch").items()
                    if epoch and math.isfinite(v := fmean(row.loss for row in some))
                ],
            )
            for (feature,), rows in by(own, "feature").items()
        ]
        view = Chart(series=series, across="epoch", up="training loss, in nats")
        shown.append(Shown(learner=learner, readout=readout, view=view))
    return Section(
        name="budget",
        question="Did the retraining have enough?",
        caption=(
            "Training loss of the retrained layers by epoch, the mean over orders and seeds. A "
            "curve that still falls at its end has not converged, and its layer is not judged."
        ),
        shown=shown,
    )


def output(tables: Tables) -> Section:
    """Ask what the metrics of the output say."""
    matrices = Matrices(tables["rows"])
    learners = matrices.learners if matrices.tasks else ()
    shown = [Shown(learner=name, view=_matrix(matrices.R(name).values)) for name in learners]
    rows = [row for row in tables.get("metrics", ()) if not row.feature]
    scored = list(dict.fromkeys(row.learner for row in rows))
    lines = [
        (f"{metric} ({paper}{', ' + head if head else ''})", *_beside(own, scored))
        for (paper, metric, head), own in by(rows, "paper", "metric", "head").items()
        if "[" not in metric
    ]
    if lines:
        seconds = training_seconds(tables.get("times", ()))
        spent = (f"{seconds[name]:.3g}" if name in seconds else "-" for name in scored)
        lines.append(("seconds of training, of all tasks", *spent))
        table = Sheet(title="", columns=["metric", *map(label, scored)], lines=lines)
        shown.append(Shown(view=table))
    return Section(
        name="output",
        question="What do the metrics of the output say?",
        caption=(
            "The accuracy matrix R in %: a row for each number of tasks learned, a column for each "
            "task position; cells before a task was learned are pale. Below, the metrics of the "
            "literature, mean ± standard deviation over seeds."
        ),
        shown=shown,
    )


def _matrix(values: Any) -> HeatMap:
    """Return R as a heat map: its tones are accuracies, those of tasks not yet learned pale."""
    T = values.shape[1]
    cells = [
        [
            Cell()
            if math.isnan(v)
            else Cell(text=f"{100 * v:.0f}", tone=round(7 * v), weak=j >= t, tip=f"{100 * v:.1f}")
            for j, v in enumerate(row)
        ]
        for t, row in enumerate(values)
    ]
    return HeatMap(
        rows=[str(t) for t in range(T + 1)],
        columns=[str(j + 1) for j in range(T)],
        cells=cells,
        down="tasks learned",
        across="task position",
    )


def _beside(rows: Iterable[Any], learners: Iterable[str]) -> Iterator[str]:
    """Yield a metric of each learner, a dash where it was not measured."""
    own = {row.learner: row for row in rows}
    for name in learners:
        row = own.get(name)
        if row is None or math.isnan(row.mean):
            yield "-"
        else:
            yield f"{row.mean:.3g}" + ("" if math.isnan(row.std) else f" ± {row.std:.2g}")


def diagnostics(tables: Tables) -> Section:
    """Ask how the features changed."""
    shown = []
    for (learner,), rows in by(tables.get("diagnostics", ()), "learner").items():
        last = max(row.step for row in rows)
        own = [row for row in rows if row.step == last]
        measures = list(dict.fromkeys(row.measure for row in own))
        lines = [
            (feature, *_means(of_feature, measures))
            for (feature,), of_feature in by(own, "feature").items()
        ]
        table = Sheet(title="", columns=["layer", *measures], lines=lines)
        shown.append(Shown(learner=learner, view=table))
    return Section(
        name="diagnostics",
        question="How did the features themselves change?",
        caption=(
            "After the last task, the mean over orders and seeds: the numbers of a feature, the "
            "share of dead ones, its effective rank, and its similarity (debiased linear CKA) to "
            "the same feature of other networks."
        ),
        shown=shown,
    )


def _means(rows: Iterable[Any], measures: Iterable[str]) -> Iterator[str]:
    own = by(rows, "measure")
    for name in measures:
        values = [row.value for row in own.get((name,), ()) if math.isfinite(row.value)]
        yield f"{fmean(values):.3g}" if values else "-"


def _of_layers(tables: Tables) -> Iterator[tuple[tuple[str, str], list[LayerRow]]]:
    """Yield the rows of each continual learner's layers, by depth; readout after readout."""
    found = by(tables.get("layers", ()), "learner", "readout")
    readouts = list(dict.fromkeys(readout for _, readout in found))
    for learner, readout in sorted(found, key=lambda key: readouts.index(key[1])):
        if learner not in CONTROLS:
            rows = sorted(found[learner, readout], key=lambda row: row.depth)
            yield (learner, readout), rows


def _features(rows: Iterable[LayerRow]) -> list[str]:
    return list(dict.fromkeys(row.feature for row in rows))


_QUESTIONS: tuple[Callable[[Tables], Section], ...] = (
    missing,
    parted,
    course,
    budget,
    output,
    diagnostics,
)
