"""What the command line shows of a study at its end: tables of results, and the files written.

Everything comes from the tables on disk, not from the run: what is printed is what a reader of the
files would find. Learners with networks of their own have features of their own, and so tables of
their own. A dash is what was not measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.notes import listed
from probe.tables.rows import MetricRow, NoteRow, Row, SummaryRow, TimeRow
from probe.tables.run_directory import NOTES
from probe.tables.summary import training_seconds
from probe.tables.table_file import read_table
from scenarios.commands.screen.layers_found import show_layers_found
from scenarios.commands.screen.terminal import printable

_Value = tuple[float, float]  # mean and standard deviation
_Jobs = defaultdict[tuple[str, str], set[tuple[str, str, int]]]  # by learner and feature
_MOST_NOTES = 8


def show_outcome(console: Console, root: Path, omegas: bool, files: Iterable[str]) -> None:
    """Print the results in the tables of a run directory with the notes on them, then paths.

    root: the run directory; omegas: whether to print Kemker's metrics too; files: by name within
    the run directory, whose paths are printed. Raises InputError for tables that cannot be read.
    """
    # Metrics of R: those of a feature's own matrix are for a reader of the file.
    metrics = read_table(root / "metrics.csv", MetricRow, lambda cells: not cells["feature"])
    show_results(console, read_table(root / "summary.csv", SummaryRow), metrics)
    show_layers_found(console, root)
    if omegas:
        show_omegas(console, metrics, read_table(root / "times.csv", TimeRow))
    for line in note_lines(root):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for name in files:
        console.print(printable(str(root / name)), markup=False, soft_wrap=True)


def show_results(
    console: Console, summary: Sequence[SummaryRow], metrics: Sequence[MetricRow]
) -> None:
    """Print a line for each learner, in %: PRA behind each feature, and A and F.

    summary, metrics: the rows of summary.csv and metrics.csv. Learners that share a network share a
    table. A and F are Chaudhry 2018's average accuracy and forgetting after the last task, under
    the main head, which is the first in the metrics. Of a study that retrains nothing there is no
    PRA.
    """
    seeds = max((row.seeds for row in summary), default=0)
    main = _main_head(metrics)
    networks = _by_features(summary)
    last = f"average accuracy A and forgetting F after the last task ({main}-head)"
    what = f"Partial Retrain Accuracy, {last}" if any(networks) else f"A{last[1:]}"
    over = f"mean±std over {seeds} seeds" if seeds > 1 else "one seed"
    console.print(printable(f"{what}, in %: {over}"), markup=False)
    a, f = (_after_the_last(metrics, m, main) for m in ("average_accuracy[", "forgetting["))
    pra = {(r.learner, r.feature): (r.mean, r.std) for r in summary if r.measure == "pra"}
    for features, learners in networks.items():
        table = _table(["learner", *features, "A", "F"])
        # Many features fit into 80 columns with the deviation below the mean.
        between = "\n±" if len(features) > 4 else "±"
        for learner in learners:
            behind = [pra.get((learner, feature)) for feature in features]
            values = [*behind, a.get(learner), f.get(learner)]
            table.add_row(_plain(learner), *(_cell(value, between) for value in values))
        console.print(table)


def show_omegas(console: Console, metrics: Sequence[MetricRow], times: Sequence[TimeRow]) -> None:
    """Print Kemker 2018's table: the Omegas under the main head, model size and training time.

    metrics, times: the rows of metrics.csv and times.csv. Sizes are in 10^6 bytes, times in seconds
    for all tasks, the mean over orders and seeds. Where the metrics have the Omegas by what was
    learned first, a table for each of these.
    """
    main = _main_head(metrics)
    title = printable(f"Kemker's Omegas ({main}-head), model size, training time of a run")
    console.print(title, markup=False)
    own = {(r.learner, r.metric): (r.mean, r.std) for r in metrics if r.head in ("", main)}
    seconds = training_seconds(times)
    by_first = (r.metric for r in metrics if r.metric.startswith("omega_new["))
    for first in dict.fromkeys(name.removeprefix("omega_new") for name in by_first) or [""]:
        if first:
            console.print(printable(first.strip("[]")), markup=False, highlight=False)
        table = _table(["learner", "base", "new", "all", "MB", "seconds"])
        for learner in dict.fromkeys(r.learner for r in metrics if r.metric == "omega_new"):
            omegas = [own.get((learner, f"omega_{of}{first}")) for of in ("base", "new", "all")]
            size, spent = own.get((learner, "model_size_mb")), seconds.get(learner)
            table.add_row(
                _plain(learner),
                *(_cell(value, scale=1, digits=3) for value in omegas),
                _cell(size and (size[0], math.nan), scale=1, digits=2),
                _cell(None if spent is None else (spent, math.nan), scale=1),
            )
        console.print(table)


def note_lines(root: Path) -> list[str]:
    """Return a line for each note on the results of a run directory, those of most jobs first.

    A line says for which learners the note holds, behind which of their features, if it is of any,
    how these are read and after how many tasks, where that is not by retraining after all, and for
    how many of the jobs that were measured there. Of many lines the last says only how many more
    there are. Raises InputError for tables that cannot be read.
    """
    if not (root / NOTES).is_file():
        return []
    notes = defaultdict[tuple[str, str, bool], list[NoteRow]](list)
    for noted in read_table(root / NOTES, NoteRow):
        notes[noted.note, noted.readout, bool(noted.feature)].append(noted)
    measured, last = _Jobs(set), defaultdict[str, int](int)
    # Of no feature is what is told of a learner itself, in any of its jobs.
    for row in read_table(root / "rows.csv", Row, lambda cells: cells["measure"] == "pra"):
        measured[row.learner, row.feature].add(_job(row))
        measured[row.learner, ""].add(_job(row))
        last[row.learner] = max(last[row.learner], row.step or 0)
    most_first = sorted(notes.values(), key=lambda own: -len(set(map(_job, own))))
    lines = [_note_line(own, measured, last) for own in most_first[:_MOST_NOTES]]
    more = len(most_first) - len(lines)
    return [*lines, f"and {more} more in {NOTES}"] if more else lines


def _note_line(own: Sequence[NoteRow], measured: _Jobs, last: Mapping[str, int]) -> str:
    """Return the line of one note.

    own: its rows, all of one readout; measured: the jobs measured there; last: the number of tasks
    after which a learner ends.
    """
    learners = listed(dict.fromkeys(row.learner for row in own))
    features = listed(dict.fromkeys(row.feature for row in own if row.feature))
    behind = f", behind {features}" if features else ""
    there = {job for row in own for job in measured[row.learner, row.feature]}
    jobs = f"{len(set(map(_job, own)))} of {len(there)} {'job' if len(there) == 1 else 'jobs'}"
    where = f"{learners}{behind}{_how(own[0].readout)}{_when(own, last)}"
    return printable(f"note: {where} ({jobs}): {own[0].note}")


def _how(readout: str) -> str:
    """Return how a feature is read, nothing for retraining as the study has it.

    >>> _how("retrain"), _how("linear"), _how("retrain@2+bn")
    ('', ', read by linear', ', retrained for 2 times the epochs, with batch norm reestimated')
    """
    name, statistics = readout.removesuffix("+bn"), readout.endswith("+bn")
    base, _, multiple = name.partition("@")
    how = f", retrained for {multiple} times the epochs" if multiple else f", read by {base}"
    how = "" if name in ("", "retrain") else how
    return f"{how}, with batch norm reestimated" if statistics else how


def _when(own: Sequence[NoteRow], last: Mapping[str, int]) -> str:
    """Return after how many tasks a note holds, nothing where that is only at the end."""
    early = sorted({row.step for row in own if row.step is not None and _is_early(row, last)})
    if not early:
        return ""
    tasks = "task" if early == [1] else "tasks"
    at_last = "" if all(_is_early(row, last) for row in own) else " and after all"
    return f", after {listed(early)} {tasks}{at_last}"


def _is_early(row: NoteRow, last: Mapping[str, int]) -> bool:
    return row.step is not None and row.step < last[row.learner]


def _job(row: Row | NoteRow) -> tuple[str, str, int]:
    """Return which job a row is of: learner, order and seed."""
    return row.learner, row.order, row.seed


def _by_features(summary: Sequence[SummaryRow]) -> dict[tuple[str, ...], list[str]]:
    """Return the learners by the features of their network, in order of depth.

    A learner that retrains none, as Offline, is listed with the first network; () = nobody does.
    """
    own: dict[str, dict[int, str]] = {}
    for row in summary:
        if row.measure == "pra":
            own.setdefault(row.learner, {})[row.depth] = row.feature
    features = {
        learner: tuple(named[depth] for depth in sorted(named)) if len(named) > 1 else ()
        for learner, named in own.items()
    }
    first = next(filter(None, features.values()), ())
    networks: dict[tuple[str, ...], list[str]] = {}
    for learner, named in features.items():
        networks.setdefault(named or first, []).append(learner)
    return networks


def _main_head(metrics: Iterable[MetricRow]) -> str:
    """Return the head that the report names first; metrics of costs have none."""
    return next((row.head for row in metrics if row.head), "single")


def _after_the_last(metrics: Iterable[MetricRow], name: str, head: str) -> dict[str, _Value]:
    """Return mean and deviation after the last task, by learner.

    name: of the metric up to its bracket, as `forgetting[`.
    """
    # They come in order of k: what stays is the value after the last task.
    own = (row for row in metrics if row.metric.startswith(name) and row.head == head)
    return {row.learner: (row.mean, row.std) for row in own}


def _table(columns: Iterable[str]) -> Table:
    """Return an empty table: names in the first column, numbers in the others."""
    table = Table(box=SIMPLE, padding=(0, 1))
    for column in columns:
        table.add_column(_plain(column), justify="right", no_wrap=True)
    table.columns[0].justify = "left"
    return table


def _plain(name: str) -> Text:
    """Return a name as a cell that shows it as it is; rich would read a string as markup."""
    return Text(printable(name))


def _cell(value: _Value | None, between: str = "±", scale: int = 100, digits: int = 1) -> str:
    """Return mean and deviation, if there is one, or a dash for what was not measured.

    between: what stands between the two; scale: what both are multiplied by; digits: after the
    point.

    >>> _cell((0.5, 0.25)), _cell((0.5, math.nan)), _cell(None)
    ('50.0±25.0', '50.0', '-')
    """
    if value is None:
        return "-"
    mean, std = (f"{scale * number:.{digits}f}" for number in value)
    return mean if math.isnan(value[1]) else f"{mean}{between}{std}"
