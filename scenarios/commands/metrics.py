"""`probe metrics`: every metric of the literature from an accuracy matrix in a file.

The matrix may come from any framework. Metrics with further inputs (the matrix of the
cumulative learner, offline accuracy, sizes of the test sets) are computed if these are
given, and otherwise listed with the reason.
"""

from collections import defaultdict
from pathlib import Path
from textwrap import wrap
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table

from probe.errors import InputError, described
from probe.metrics.diaz_rodriguez import (
    NAMES,
    WEIGHTS,
    CeForm,
    cl_score,
    criteria_of_costs,
)
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.matrix_file import Reading, read_log, read_matrix_file
from probe.metrics.scorecard import Scorecard, scorecard
from probe.tables.sheets import Sheet
from probe.validation import shown
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line
from scenarios.options import MetricsOptions, names, weightings

_WIDTH = 80  # columns of a terminal


def score_file(file: Path, options: MetricsOptions) -> None:
    """Print the metrics of the matrix in a file as fractions, as JSON or as a table.

    Args:
        file: The file with R, (T, T) or (T+1, T): .csv, .npy, or a framework's log
            (`probe.metrics.matrix_file`).
        options: The flags of `probe metrics`; `reference` is a file with the cumulative
            learner's R, in one of the same formats.

    Raises:
        InputError: The values cannot be read, or the matrices have different T.
    """
    R, reading = _matrix(file, options)
    # With --percent, the reference and the ideal are in percent, too.
    reference = _matrix(options.reference, options)[0] if options.reference else None
    if reference and reference.tasks != R.tasks:
        raise InputError(
            f"--reference {options.reference}: "
            f"expected {R.tasks} tasks, as {file} has, got {reference.tasks}"
        )
    ideal = options.ideal and options.ideal / (100 if options.percent else 1)
    card = scorecard(
        R,
        reference=reference,
        ideal=ideal,
        test_sizes=_sizes(options.test_sizes),
        forward=reading.forward,
    )
    if options.costs:
        card = _with_costs(card, _costs(options.costs, R.tasks), options)
    if options.json:
        print(card.to_json(read=reading._asdict()))
        return
    show_line(_summary(card, R.tasks))
    show_sheet(_tasks_sheet(R))
    _show_reading(reading)
    _show_card(card)
    show_line("with checkpoints, `probe diff` says which layer forgot")


def _summary(card: Scorecard, tasks: int) -> str:
    """Return what the metrics say of forgetting, a sentence."""
    values = {(paper, metric): value for paper, metric, value in card.rows()}
    accuracy = values["gem", "acc"]
    change = values["gem", "bwt"]
    if accuracy is None or change is None:
        return f"{tasks} tasks: what was forgotten cannot be told from these cells"
    transfer = f"backward transfer {round(100 * change, 1) + 0:.1f} points (GEM's bwt)"
    return f"{transfer}, average accuracy {100 * accuracy:.1f} % after {tasks} tasks"


def _tasks_sheet(R: AccuracyMatrix) -> Sheet:
    """Return the accuracy on each task, in %: untrained, just learned, and at the end."""
    lines = []
    for j in range(1, R.tasks + 1):
        untrained, learned, end = R.values[[0, j, R.tasks], j - 1]
        values = (untrained, learned, end, learned - end)
        cells = (
            "-" if np.isnan(value) else f"{round(100 * value, 1) + 0:.1f}"
            for value in values
        )
        lines.append((str(j), *cells))
    columns = ("task", "untrained", "just learned", "at the end", "lost")
    return Sheet(columns=columns, lines=lines)


def _show_reading(reading: Reading) -> None:
    """Print how the matrix was read, and what may be wrong with it."""
    first = "before any training" if reading.row_0 else "after task 1"
    names = "a line of names, " if reading.header else ""
    line = f"{reading.file}: in {reading.unit}, {names}first row {first}; one matrix"
    show_line(f"{line}, so no intervals")
    for note in reading.notes:
        show_line(note)


def _show_card(card: Scorecard) -> None:
    """Print the metrics that were measured, and below them each reason for the others once."""
    table = Table("paper", "metric", "value")
    names_of_reason = defaultdict[str, list[str]](list)
    for paper, metric, value in card.rows():
        if value is None:
            reason = card.not_measured.get(f"{paper}.{metric}", "")
            names_of_reason[reason].append(f"{paper}.{metric}")
        else:
            table.add_row(paper, metric, f"{value:.4f}")
    Console().print(table)
    show_line("metrics of one name differ by their paper: docs/metrics.md")
    for reason, metrics in names_of_reason.items():
        for line in wrap(f"not measured ({reason}): {', '.join(metrics)}", _WIDTH):
            show_line(line)


def _matrix(path: Path, options: MetricsOptions) -> tuple[AccuracyMatrix, Reading]:
    """Return R from a matrix file or, with --from, a framework's log, and how it was read."""
    if options.from_:
        unit = "fractions" if options.from_ == "facil" else "percent"
        return read_log(path, options.from_), Reading(str(path), unit)
    return read_matrix_file(path, percent=options.percent)


def _costs(path: Path, tasks: int) -> dict[str, list[float]]:
    """Return the columns of a file with a line of costs for each task; raises InputError."""
    from pandas import read_csv

    try:
        table = read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(f"--costs {path} cannot be read: {described(error)}") from None
    if len(table) != tasks:
        raise InputError(
            f"--costs {path} has {len(table)} lines, expected one for each of {tasks} "
            "tasks"
        )
    if "tasks_seen" in table:
        table = table.sort_values("tasks_seen")
    return {str(name): table[name].tolist() for name in table}


def _with_costs(
    card: Scorecard, costs: dict[str, list[float]], options: MetricsOptions
) -> Scorecard:
    """Return a card with MS, SSS, CE and CLscore under each weighting."""
    paper = {**card.values["diaz_rodriguez"]}
    paper |= criteria_of_costs(costs, options.ce_epsilon, cast(CeForm, options.ce_form))
    criteria = {name: paper[key] for name, key in NAMES.items()}
    missing = [name for name, value in criteria.items() if value is None]
    reasons = {**card.not_measured}
    for name, weights in {**WEIGHTS, **weightings(options.weights or ())}.items():
        key = f"cl_score[{name}]"
        # Every score needs all criteria.
        if missing:
            reasons[f"diaz_rodriguez.{key}"] = f"needs {', '.join(missing)}"
            paper[key] = None
        else:
            paper[key] = cl_score(cast(dict[str, float], criteria), weights)
    return Scorecard(
        values={**card.values, "diaz_rodriguez": paper}, not_measured=reasons
    )


def _sizes(text: str | None) -> list[int] | None:
    """Return the numbers of test examples, None if not given; their range is checked later."""
    try:
        return None if text is None else [int(cell) for cell in names(text)]
    except ValueError:
        raise InputError(
            f"--test-sizes expects integers as 10,20,..., got {shown(text)}"
        ) from None
