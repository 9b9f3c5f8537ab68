"""The end of a study on the screen: tables of results, layers, notes, and the files written.

Everything comes from the tables on disk, not from the run, so that the files have the same numbers.
Learners of another network have other features, and so a separate table. A dash means not measured.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.text import Text

from probe.notes import listed, ranged, without_decimals
from probe.tables.budget_text import budget_sheets
from probe.tables.folder import KINDS
from probe.tables.layer_text import control_sheets, layer_sheets, mean_cell
from probe.tables.rows import (
    CONTROLS,
    LayerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
    SummaryRow,
    TimeRow,
)
from probe.tables.run_directory import NOTES, TIMES
from probe.tables.sheets import Sheet
from probe.tables.table_file import read_table
from scenarios.commands.screen.sheets import show_sheet, show_table
from scenarios.commands.screen.terminal import printable, show_line

_Value = tuple[float, float]  # mean and standard deviation
_Jobs = defaultdict[tuple[str, str], set[tuple[str, str, int]]]  # by learner and feature
_MOST_NOTES = 8

_READOUTS = {
    "retrain": "Accuracy missing in each layer, everything downstream retrained (readout retrain)",
    "linear": "Accuracy missing in each layer, a linear classifier downstream (readout linear)",
    "linear-task": "Accuracy missing in each layer, a linear classifier per task (linear-task)",
}
# From white to a dark orange, a scale that survives in black and white.
_LIGHT, _DARK = (255, 255, 255), (166, 54, 3)
_MOST_TASKS = 12  # columns that fit on a page


def show_outcome(
    console: Console, root: Path, omegas: bool = False, *, trained: bool = True
) -> None:
    """Print the results in a run directory, the notes on them, and where the files are.

    Args:
        console: The console to print to.
        root: The run directory.
        omegas: Whether to print Kemker's metrics too.
        trained: Whether its networks were trained there; those from checkpoints have no costs, but
            maps of their layers are printed.

    Raises:
        InputError: Tables cannot be read.
    """
    metrics: list[MetricRow] = []
    if trained:
        # Only metrics of R: metrics of a feature's matrix A are in the file.
        metrics = read_table(root / "metrics.csv", MetricRow, lambda cells: not cells["feature"])
        show_results(console, read_table(root / "summary.csv", SummaryRow), metrics)
    for line in note_lines(root):
        show_line(line)
    show_layers(console, root, maps=not trained)
    if omegas:
        show_omegas(console, metrics, read_table(root / TIMES, TimeRow))
    files = f"figures: {root / 'figures'}; tables: {root}/*.csv"
    show_line(f"the answer: {root / 'report.html'}; {files}")


def show_results(
    console: Console, summary: Sequence[SummaryRow], metrics: Sequence[MetricRow]
) -> None:
    """Print a line for each learner, in %: PRA downstream of each feature, and A and F.

    Learners that share a network share a table. A and F are Chaudhry 2018's average accuracy and
    forgetting after the last task, under the main head, which is the first in the metrics. A study
    that retrains nothing has no PRA.

    Args:
        console: The console to print to.
        summary: The rows of summary.csv.
        metrics: The rows of metrics.csv.
    """
    seeds = max((row.seeds for row in summary), default=0)
    main = _main_head(metrics)
    networks = _by_features(summary)
    last = f"average accuracy A and forgetting F after the last task ({main}-head)"
    what = f"Partial Retrain Accuracy, {last}" if any(networks) else f"A{last[1:]}"
    over = f"mean±std over {seeds} seeds" if seeds > 1 else "one seed"
    console.print(printable(f"{what}, in %: {over}"), markup=False)
    a, f = (_after_the_last(metrics, m, main) for m in ("average_accuracy[", "forgetting["))
    pra = {(r.learner, r.feature): (r.mean, r.std) for r in summary if r.metric == "pra"}
    for features, learners in networks.items():
        # Many features fit into 80 columns with the deviation below the mean.
        between = "\n±" if len(features) > 4 else "±"
        lines = []
        for learner in learners:
            accuracies = (pra.get((learner, feature)) for feature in features)
            values = (*accuracies, a.get(learner), f.get(learner))
            lines.append((learner, *(mean_cell(value, between) for value in values)))
        show_sheet(console, Sheet(title="", columns=["learner", *features, "A", "F"], lines=lines))


def show_omegas(console: Console, metrics: Sequence[MetricRow], times: Sequence[TimeRow]) -> None:
    """Print Kemker 2018's table: the Omegas under the main head, model size and training time.

    Sizes are in 10^6 bytes, times in seconds for all tasks, the mean over orders and seeds. If the
    metrics split the Omegas by the task learned first, each of these gets a table.

    Args:
        console: The console to print to.
        metrics: The rows of metrics.csv.
        times: The rows of times.csv.
    """
    from probe.tables.summary import training_seconds

    main = _main_head(metrics)
    title = printable(f"Kemker's Omegas ({main}-head), model size, training time of a run")
    console.print(title, markup=False)
    values = {(r.learner, r.metric): (r.mean, r.std) for r in metrics if r.head in ("", main)}
    seconds = training_seconds(times)
    learners = dict.fromkeys(r.learner for r in metrics if r.metric == "omega_new")
    by_first = (r.metric for r in metrics if r.metric.startswith("omega_new["))
    for first in dict.fromkeys(name.removeprefix("omega_new") for name in by_first) or [""]:
        if first:
            console.print(printable(first.strip("[]")), markup=False, highlight=False)
        lines = []
        for learner in learners:
            omegas = [values.get((learner, f"omega_{of}{first}")) for of in ("base", "new", "all")]
            size, spent = values.get((learner, "model_size_mb")), seconds.get(learner)
            cells = [mean_cell(value, scale=1, digits=3) for value in omegas]
            cells.append(mean_cell(size and (size[0], math.nan), scale=1, digits=2))
            cells.append(mean_cell(None if spent is None else (spent, math.nan), scale=1))
            lines.append((learner, *cells))
        columns = ["learner", "base", "new", "all", "MB", "seconds"]
        show_sheet(console, Sheet(title="", columns=columns, lines=lines))


def note_lines(root: Path) -> list[str]:
    """Return a line for each note on the results of a run directory, those on most jobs first.

    Notes on the network itself precede those on features. A line names the learners and features of
    the note, the share of the jobs that have it, and the readout and the number of tasks learned,
    unless it is `retrain` after all tasks. After a few lines, the last one only counts the rest.

    Args:
        root: The run directory.

    Returns:
        The lines.

    Raises:
        InputError: The tables cannot be read.
    """
    if not (root / NOTES).is_file():
        return []
    notes = defaultdict[tuple[str, str, bool], list[NoteRow]](list)
    for row in read_table(root / NOTES, NoteRow):
        notes[without_decimals(row.note), row.readout, bool(row.feature)].append(row)
    measured, last = _Jobs(set), defaultdict[str, int](int)
    # A note without a feature is on the learner itself, in any of its jobs.
    measurements = read_table(
        root / "measurements.csv", MeasurementRow, lambda c: c["metric"] == "pra"
    )
    for measurement in measurements:
        measured[measurement.learner, measurement.feature].add(_job(measurement))
        measured[measurement.learner, ""].add(_job(measurement))
        last[measurement.learner] = max(last[measurement.learner], measurement.tasks_seen or 0)
    most_first = sorted(notes.values(), key=lambda n: (n[0].feature > "", -len({*map(_job, n)})))
    lines = [_note_line(rows, measured, last) for rows in most_first[:_MOST_NOTES]]
    more = len(most_first) - len(lines)
    return [*lines, f"and {more} more in {NOTES}"] if more else lines


def _note_line(rows: Sequence[NoteRow], measured: _Jobs, last: Mapping[str, int]) -> str:
    """Return the line of one note.

    rows: of one readout, the same but for decimal fractions; measured: the jobs by learner
    and feature; last: the number of all tasks that a learner learns.
    """
    learners = listed(dict.fromkeys(row.learner for row in rows))
    features = listed(dict.fromkeys(row.feature for row in rows if row.feature))
    behind = f", downstream of {features}" if features else ""
    there = {job for row in rows for job in measured[row.learner, row.feature]}
    jobs = f"{len(set(map(_job, rows)))} of {len(there)} {'job' if len(there) == 1 else 'jobs'}"
    where = f"{learners}{behind}{_how(rows[0].readout)}{_when(rows, last)}"
    return printable(f"note: {where} ({jobs}): {ranged(row.note for row in rows)}")


def _how(readout: str) -> str:
    """Name a readout, unless it is plain retraining.

    >>> _how("retrain"), _how("linear"), _how("retrain@2+bn")
    ('', ', read by linear', ', retrained for 2 times the epochs, with batch norm reestimated')
    """
    name, statistics = readout.removesuffix("+bn"), readout.endswith("+bn")
    base, _, multiple = name.partition("@")
    how = f", retrained for {multiple} times the epochs" if multiple else f", read by {base}"
    how = "" if name in ("", "retrain") else how
    return f"{how}, with batch norm reestimated" if statistics else how


def _when(rows: Sequence[NoteRow], last: Mapping[str, int]) -> str:
    """Name the numbers of tasks after which a note applies, unless it is only the last."""

    def at_last(row: NoteRow) -> bool:
        return row.tasks_seen is None or row.tasks_seen >= last[row.learner]

    early = {row.tasks_seen or 0 for row in rows if not at_last(row)}
    if not early:
        return ""
    tasks, at_end = "task" if early == {1} else "tasks", any(map(at_last, rows))
    return f", after {listed(sorted(early))} {tasks}{' and after all' if at_end else ''}"


def _job(row: MeasurementRow | NoteRow) -> tuple[str, str, int]:
    return row.learner, row.order, row.seed


def _by_features(summary: Sequence[SummaryRow]) -> dict[tuple[str, ...], list[str]]:
    """Return the learners by the features of their network, in order of depth.

    A learner with only an output is listed with the first network, or with () if all are such.
    """
    features: dict[str, list[str]] = {}
    for row in sorted(summary, key=lambda row: row.depth):
        if row.metric == "pra":
            features.setdefault(row.learner, []).append(row.feature)
    learners = dict.fromkeys(row.learner for row in summary if row.metric == "pra")
    first = next((tuple(f) for learner in learners if len(f := features[learner]) > 1), ())
    networks: dict[tuple[str, ...], list[str]] = {}
    for learner in learners:
        names = tuple(features[learner])
        networks.setdefault(names if len(names) > 1 else first, []).append(learner)
    return networks


def _main_head(metrics: Iterable[MetricRow]) -> str:
    """Return the first head in the metrics; metrics of costs have none."""
    return next((row.head for row in metrics if row.head), "single")


def _after_the_last(metrics: Iterable[MetricRow], name: str, head: str) -> dict[str, _Value]:
    """Return mean and deviation after the last task, by learner; name: up to the bracket."""
    # They come in order of k: the last one stays.
    rows = (row for row in metrics if row.metric.startswith(name) and row.head == head)
    return {row.learner: (row.mean, row.std) for row in rows}


def show_layers(console: Console, root: Path, *, maps: bool = False) -> None:
    """Print the layers of a run directory over all tasks, a table for each learner and readout.

    The readouts are those of `_READOUTS`; the controls are left out. Numbers are in %, missing in
    points of accuracy; brackets hold 95 % intervals, of several seeds.

    Args:
        console: The console to print to.
        root: The run directory.
        maps: Whether to print the heat maps of every readout, too.

    Raises:
        InputError: Tables cannot be read.
    """
    names = ("layers", "statements", "statement_seeds", "first_layer", "notes", "controls")
    tables = {name: _read(root, name) for name in names}
    rows = [row for row in tables["layers"] if row.learner not in CONTROLS]
    for readout, title in _READOUTS.items():
        readout_rows = [row for row in rows if row.readout == readout]
        sheets = layer_sheets({**tables, "layers": readout_rows})
        if sheets:
            console.print(title, markup=False, highlight=False)
        for sheet in sheets:
            show_sheet(console, sheet)
    for sheet in (*budget_sheets(rows, tables["notes"]), *control_sheets(tables["controls"])):
        show_sheet(console, sheet)
    if maps:
        _show_maps(console, [row for row in rows if row.task_position is not None])


def _read(root: Path, name: str) -> list[Any]:
    path = root / f"{name}.csv"
    return read_table(path, KINDS[name]) if path.is_file() else []


def _show_maps(console: Console, layers: Sequence[LayerRow]) -> None:
    """Print a map for each learner and readout: features by depth, tasks by position, in points.

    A cell shows the accuracy missing against the ceiling, darker for more; without a ceiling the
    accuracy, darker for less. Prints nothing for more tasks than fit.
    """
    positions = sorted({row.task_position or 0 for row in layers})
    if len(positions) > _MOST_TASKS:
        return
    for learner, readout in dict.fromkeys((row.learner, row.readout) for row in layers):
        rows = [row for row in layers if (row.learner, row.readout) == (learner, readout)]
        missing = any(row.quantity == "missing" and not math.isnan(row.value) for row in rows)
        what = "points below the ceiling" if missing else "accuracy in %"
        title = f"{learner}, {readout}: {what} after all tasks, by task position"
        console.print(printable(title), markup=False, highlight=False)
        shown = "missing" if missing else "accuracy"
        cells = {(r.feature, r.task_position): 100 * r.value for r in rows if r.quantity == shown}
        features = dict.fromkeys(row.feature for row in sorted(rows, key=lambda row: row.depth))
        lines = []
        for feature in features:
            row = (_cell(cells.get((feature, p), math.nan), missing) for p in positions)
            lines.append((Text(printable(feature)), *row))
        show_table(console, ["", *(f"{position} " for position in positions)], lines)


def _cell(value: float, dark_is_high: bool) -> Text:
    """Return a number on its color, or a dash for NaN."""
    if math.isnan(value):
        return Text("-  ", justify="right")
    share = min(max(value / 100 if dark_is_high else 1 - value / 100, 0.0), 1.0)
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
    style = Style(color="white" if share > 0.55 else "black", bgcolor=f"rgb({red},{green},{blue})")
    return Text(f"{value:6.1f} ", style=style)
