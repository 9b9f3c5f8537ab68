"""The end of a study on the screen: tables of results, layers, notes, and the files written.

Everything comes from the tables on disk, not from the run, so that the files have the
same numbers. Learners with a different network have different features, and so a
separate table. A dash means "not measured".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from probe.answers.record import Answer
from probe.answers.study import answers
from probe.answers.text import answer_lines
from probe.errors import printable
from probe.results.run_directory import next_of
from probe.tables.folder import read_tables
from probe.tables.layer_text import mean_and_interval
from probe.tables.note_text import note_sentences
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import where
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line

_MOST_NOTES = 8
_MOST_ANSWERS = 4
_STYLES = {"costs": "bold red", "helps": "green", "open": "dim"}


def show_outcome(
    root: Path,
    *,
    omegas: bool = False,
    trained: bool = True,
    tables: bool = False,
) -> None:
    """Print the answer in a run directory, or all results, and where the files are.

    All results are printed where there is no answer, as of a study of outputs alone.

    Args:
        root: The run directory.
        omegas: Whether to print Kemker's metrics too.
        trained: Whether the run trained its networks; those from checkpoints have no
            costs.
        tables: Whether to print all results where there is an answer, too.

    Raises:
        InputError: Tables cannot be read.
    """
    results = read_tables(root)
    answered = answers(results, next_of(root))
    if answered:
        _show_answers(answered)
    if tables or not answered:
        _show_all(results, omegas=omegas, trained=trained)
    show_line(f"page: {root / 'report.html'}")
    show_line(f"figures: {root / 'figures'}; tables: {root}/*.csv")


def _show_answers(answered: Sequence[Answer]) -> None:
    """Print the answers on the first methods, each layer in the color of its verdict."""
    console = Console()
    for line, verdict in answer_lines(answered[:_MOST_ANSWERS]):
        text = Text(printable(line), _STYLES.get(verdict, ""))
        console.print(text, soft_wrap=True)
    if len(answered) > _MOST_ANSWERS:
        show_line(f"{len(answered) - _MOST_ANSWERS} more: see the page")


def _show_all(tables: Tables, *, omegas: bool, trained: bool) -> None:
    """Print all results, and the notes on them."""
    # Only metrics of R: metrics of a feature's matrix A are in the file.
    metrics = where(tables["metrics"], feature="")
    if trained:
        show_results(tables["summary"], metrics)
    for line in note_lines(tables["notes"]):
        show_line(line)
    if omegas:
        show_omegas(metrics, tables["times"])


def show_results(summary: pd.DataFrame, metrics: pd.DataFrame) -> None:
    """Print a line for each learner, in %: PRA downstream of each feature, and A and F.

    Learners that share a network share a table. A and F are Chaudhry 2018's average
    accuracy and forgetting after the last task, under the main head, which is the first
    in the metrics. A study that retrains nothing has no PRA.

    Args:
        summary: The table of summary.csv.
        metrics: The table of metrics.csv.
    """
    main = _main_head(metrics)
    summary = where(summary, metric="pra")
    seeds = max(summary["seeds"], default=0)
    networks = _by_features(summary)
    last = f"average accuracy A and forgetting F after the last task ({main}-head)"
    what = f"Partial Retrain Accuracy, {last}" if any(networks) else f"A{last[1:]}"
    over = f"mean and 95 % interval over {seeds} seeds" if seeds > 1 else "one seed"
    Console().print(printable(f"{what}, in %: {over}"), markup=False)
    # They come in order of k: the last one stays.
    of_head = where(metrics, head=main)
    names = of_head["metric"].str
    a = _rows_by(of_head[names.startswith("average_accuracy[")], "learner")
    f = _rows_by(of_head[names.startswith("forgetting[")], "learner")
    pra = _rows_by(summary, "learner", "feature")
    for features, learners in networks.items():
        lines = []
        for learner in learners:
            of_features = (pra.get((learner, feature)) for feature in features)
            rows = (*of_features, a.get(learner), f.get(learner))
            if any(rows):
                lines.append((learner, *map(mean_and_interval, rows)))
        show_sheet(Sheet(columns=["method", *features, "A", "F"], lines=lines))


def show_omegas(metrics: pd.DataFrame, times: pd.DataFrame) -> None:
    """Print Kemker 2018's table: the Omegas under the main head, model size and training time.

    Sizes are in 10^6 bytes, times in seconds for all tasks, the mean over orders and
    seeds. If the metrics split the Omegas by the task learned first, each of these
    tasks gets a table.

    Args:
        metrics: The table of metrics.csv.
        times: The table of times.csv.
    """
    from probe.tables.summary import training_seconds

    main = _main_head(metrics)
    title = printable(
        f"Kemker's Omegas ({main}-head), model size, training time of a run"
    )
    console = Console()
    console.print(title, markup=False)
    rows = _rows_by(where(metrics, head=["", main]), "learner", "metric")
    seconds = training_seconds(times)
    learners = where(metrics, metric="omega_new")["learner"].unique()
    by_first = metrics["metric"][metrics["metric"].str.startswith("omega_new[")]
    firsts = [name.removeprefix("omega_new") for name in by_first.unique()]
    for first in firsts or [""]:
        if first:
            console.print(printable(first.strip("[]")), markup=False, highlight=False)
        lines = []
        for learner in learners:
            cells = []
            for of in ("base", "new", "all"):
                omega = rows.get((learner, f"omega_{of}{first}"))
                cells.append(mean_and_interval(omega, 1, ".3f"))
            size = rows.get((learner, "model_size_mb"))
            spent = seconds.get(learner)
            cells.append("-" if size is None else f"{size.mean:.2f}")
            cells.append("-" if spent is None else f"{spent:.1f}")
            lines.append((learner, *cells))
        columns = ["method", "base", "new", "all", "MB", "seconds"]
        show_sheet(Sheet(columns=columns, lines=lines))


def _rows_by(table: pd.DataFrame, *columns: str) -> dict[Any, Any]:
    """Return the rows of a table by the value of a column, or the values of several."""
    return dict(
        zip(table.set_index(list(columns)).index, table.itertuples(), strict=True)
    )


def note_lines(notes: pd.DataFrame) -> list[str]:
    """Return a line for each of the first notes, those on networks before those on features.

    Args:
        notes: The table of notes.csv.

    Returns:
        The lines, the last of which counts the rest.
    """
    ordered = notes.sort_values("feature", key=lambda names: names != "", kind="stable")
    lines = [printable(f"note: {sentence}") for sentence in note_sentences(ordered)]
    if len(lines) <= _MOST_NOTES:
        return lines
    more = f"and {len(lines) - _MOST_NOTES} more in notes.csv"
    return [*lines[:_MOST_NOTES], more]


def _by_features(pra: pd.DataFrame) -> dict[tuple[str, ...], list[str]]:
    """Return the learners by the features of their network, in order of depth.

    A learner with only an output is listed with the first network, or with () if there
    is no other.
    """
    by_depth = pra.sort_values("depth", kind="stable").groupby("learner")["feature"]
    features = {learner: tuple(names) for learner, names in by_depth}
    learners = pra["learner"].unique()
    first = next((features[name] for name in learners if len(features[name]) > 1), ())
    networks: dict[tuple[str, ...], list[str]] = {}
    for learner in learners:
        names = features[learner]
        networks.setdefault(names if len(names) > 1 else first, []).append(learner)
    return networks


def _main_head(metrics: pd.DataFrame) -> str:
    """Return the first head in the metrics; metrics of costs have none."""
    return next(filter(None, metrics["head"]), "single")
