"""The end of a study on the screen: tables of results, notes, and the files written.

Everything comes from the tables on disk, not from the run, so that the files have the same numbers.
Learners of another network have other features, and so a separate table. A dash means not measured.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from probe.notes import listed, ranged, without_decimals
from probe.tables.layer_text import mean_cell
from probe.tables.rows import MeasurementRow, MetricRow, NoteRow, SummaryRow, TimeRow
from probe.tables.run_directory import NOTES, TIMES
from probe.tables.sheets import Sheet
from probe.tables.table_file import read_table
from scenarios.commands.screen.layers import show_layers
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import printable, show_line

_Value = tuple[float, float]  # mean and standard deviation
_Jobs = defaultdict[tuple[str, str], set[tuple[str, str, int]]]  # by learner and feature
_MOST_NOTES = 8


def show_outcome(console: Console, root: Path, omegas: bool) -> None:
    """Print the results in a run directory, the notes on them, and where the files are.

    omegas: whether to print Kemker's metrics too. Raises InputError for tables that cannot be read.
    """
    # Metrics of R alone: metrics of a feature's matrix A are in the file.
    metrics = read_table(root / "metrics.csv", MetricRow, lambda cells: not cells["feature"])
    show_results(console, read_table(root / "summary.csv", SummaryRow), metrics)
    for line in note_lines(root):
        show_line(console, line)
    show_layers(console, root)
    if omegas:
        show_omegas(console, metrics, read_table(root / TIMES, TimeRow))
    _show_files(console, root)


def show_page(console: Console, root: Path) -> None:
    """Print the results in the run directory of given networks: tables, maps and notes.

    Raises InputError for tables that cannot be read.
    """
    for line in note_lines(root):
        show_line(console, line)
    show_layers(console, root, maps=True)
    _show_files(console, root)


def _show_files(console: Console, root: Path) -> None:
    page = root / "report.html"
    show_line(console, f"the answer: {page}; figures: {root / 'figures'}; tables: {root}/*.csv")


def show_results(
    console: Console, summary: Sequence[SummaryRow], metrics: Sequence[MetricRow]
) -> None:
    """Print a line for each learner, in %: PRA downstream of each feature, and A and F.

    summary, metrics: the rows of summary.csv and metrics.csv. Learners that share a network share a
    table. A and F are Chaudhry 2018's average accuracy and forgetting after the last task, under
    the main head, which is the first in the metrics. A study that retrains nothing has no PRA.
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
            of_features = (pra.get((learner, each)) for each in features)
            values = (*of_features, a.get(learner), f.get(learner))
            lines.append((learner, *(mean_cell(value, between) for value in values)))
        show_sheet(console, Sheet(title="", columns=["learner", *features, "A", "F"], lines=lines))


def show_omegas(console: Console, metrics: Sequence[MetricRow], times: Sequence[TimeRow]) -> None:
    """Print Kemker 2018's table: the Omegas under the main head, model size and training time.

    metrics, times: the rows of metrics.csv and times.csv. Sizes are in 10^6 bytes, times in seconds
    for all tasks, the mean over orders and seeds. If the metrics split the Omegas by the task
    learned first, each of these gets a table.
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

    Before them, those on no feature but the network itself. A line names the learners and features
    of the note, the readout and the number of tasks learned unless it is `retrain` after all tasks,
    and the share of the jobs that have it. Beyond a few lines, the last one only counts the rest.
    Raises InputError for tables that cannot be read.
    """
    if not (root / NOTES).is_file():
        return []
    notes = defaultdict[tuple[str, str, bool], list[NoteRow]](list)
    for noted in read_table(root / NOTES, NoteRow):
        notes[without_decimals(noted.note), noted.readout, bool(noted.feature)].append(noted)
    measured, last = _Jobs(set), defaultdict[str, int](int)
    # A note without a feature is on the learner itself, in any of its jobs.
    for row in read_table(
        root / "measurements.csv", MeasurementRow, lambda cells: cells["metric"] == "pra"
    ):
        measured[row.learner, row.feature].add(_job(row))
        measured[row.learner, ""].add(_job(row))
        last[row.learner] = max(last[row.learner], row.tasks_seen)
    most_first = sorted(notes.values(), key=lambda n: (n[0].feature > "", -len({*map(_job, n)})))
    lines = [_note_line(own, measured, last) for own in most_first[:_MOST_NOTES]]
    more = len(most_first) - len(lines)
    return [*lines, f"and {more} more in {NOTES}"] if more else lines


def _note_line(own: Sequence[NoteRow], measured: _Jobs, last: Mapping[str, int]) -> str:
    """Return the line of one note.

    own: its rows, of one readout, alike but for decimal fractions; measured: the jobs by learner
    and feature; last: the number of all tasks that a learner learns.
    """
    learners = listed(dict.fromkeys(row.learner for row in own))
    features = listed(dict.fromkeys(row.feature for row in own if row.feature))
    behind = f", downstream of {features}" if features else ""
    there = {job for row in own for job in measured[row.learner, row.feature]}
    jobs = f"{len(set(map(_job, own)))} of {len(there)} {'job' if len(there) == 1 else 'jobs'}"
    where = f"{learners}{behind}{_how(own[0].readout)}{_when(own, last)}"
    return printable(f"note: {where} ({jobs}): {ranged(row.note for row in own)}")


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


def _when(own: Sequence[NoteRow], last: Mapping[str, int]) -> str:
    """Name the numbers of tasks after which a note applies, unless it is the last alone."""
    steps = {row.tasks_seen for row in own if row.tasks_seen < last[row.learner]}
    if not steps:
        return ""
    tasks = "task" if steps == {1} else "tasks"
    at_end = any(row.tasks_seen >= last[row.learner] for row in own)
    return f", after {listed(sorted(steps))} {tasks}{' and after all' if at_end else ''}"


def _job(row: MeasurementRow | NoteRow) -> tuple[str, str, int]:
    return row.learner, row.order, row.seed


def _by_features(summary: Sequence[SummaryRow]) -> dict[tuple[str, ...], list[str]]:
    """Return the learners by the features of their network, in order of depth.

    A learner with an output alone is listed with the first network, or with () if all are such.
    """
    features: dict[str, list[str]] = {}
    for row in sorted(summary, key=lambda row: row.depth):
        if row.metric == "pra":
            features.setdefault(row.learner, []).append(row.feature)
    own = {row.learner: tuple(features[row.learner]) for row in summary if row.metric == "pra"}
    first = next((names for names in own.values() if len(names) > 1), ())
    networks: dict[tuple[str, ...], list[str]] = {}
    for learner, names in own.items():
        networks.setdefault(names if len(names) > 1 else first, []).append(learner)
    return networks


def _main_head(metrics: Iterable[MetricRow]) -> str:
    """Return the first head in the metrics; metrics of costs have none."""
    return next((row.head for row in metrics if row.head), "single")


def _after_the_last(metrics: Iterable[MetricRow], name: str, head: str) -> dict[str, _Value]:
    """Return mean and deviation after the last task, by learner; name: up to the bracket."""
    # They come in order of k: the last one stays.
    own = (row for row in metrics if row.metric.startswith(name) and row.head == head)
    return {row.learner: (row.mean, row.std) for row in own}
