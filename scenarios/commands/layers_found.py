"""What the command line shows of the layers of a study: what each lacks, and where that starts.

All of it comes from layers.csv and starts.csv; nothing is printed where they are missing, as in
directories of earlier versions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.tables.rows import LayerRow, StartRow
from probe.tables.table_file import read_table
from scenarios.commands.terminal import printable

_READOUTS = {
    "retrain": "What each layer lacks when all behind it is retrained (readout retrain)",
    "linear": "What each layer lacks to a linear classifier behind it (readout linear)",
}
_COLUMNS = ("", "accuracy", "floor", "ceiling", "missing", "retained")
_LEVELS = ("offline", "untrained")  # they are what the others are compared with

_Rows = dict[str, LayerRow]  # of one feature and all tasks, by quantity


def show_layers_found(console: Console, root: Path) -> None:
    """Print, from the tables of a run directory, what each layer lacks of all tasks.

    A table for each readout that is there, of `retrain` and `linear`, and below it a sentence for
    each learner. Raises InputError for tables that cannot be read.
    """
    path = root / "layers.csv"
    if not path.is_file():
        return
    rows = read_table(path, LayerRow, lambda cells: cells["place"] is None)
    starts = root / "starts.csv"
    show_layers_lacking(console, rows, read_table(starts, StartRow) if starts.is_file() else [])


def show_layers_lacking(
    console: Console, layers: Iterable[LayerRow], starts: Sequence[StartRow]
) -> None:
    """Print a table for each readout, and a sentence for each learner.

    layers, starts: the rows of layers.csv and starts.csv. Numbers are in %, missing in points of
    accuracy; brackets hold 95 % intervals, of several seeds.
    """
    of_all = [row for row in layers if row.place is None and row.learner not in _LEVELS]
    for readout, title in _READOUTS.items():
        own = [row for row in of_all if row.readout == readout]
        if own:
            seeds = max(row.seeds for row in own)
            over = f"mean over {seeds} seeds [95 % interval]" if seeds > 1 else "one seed"
            for line in (f"{title},", f"in %: {over}"):
                console.print(line, markup=False, highlight=False)
            console.print(_table(own))
            for line in _sentences(own, [row for row in starts if row.readout == readout]):
                console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def start_sentence(row: StartRow) -> str:
    """Say where in depth a learner's forgetting starts.

    >>> row = StartRow(learner="er", readout="retrain", feature="conv3", earliest="conv2",
    ...                margin=0.01, value=0.379, low=0.301, high=0.457, seeds=3)
    >>> start_sentence(row).split(" (")[0]
    'er: forgetting starts at conv3'
    >>> start_sentence(row).split(" (")[1]
    '37.9 points below the ceiling, 95 % interval 30.1 to 45.7; at conv2 at the earliest)'
    """
    margin = f"{100 * row.margin:g} point{'' if round(100 * row.margin, 6) == 1 else 's'}"
    if row.seeds == 1:
        return f"{row.learner}: one seed: no interval"
    if not row.feature:
        may = f" for certain; the first that may is {row.earliest}" if row.earliest else ""
        return f"{row.learner}: no layer lacks more than {margin}{may}"
    earliest = (
        f"; at {row.earliest} at the earliest" if row.earliest not in ("", row.feature) else ""
    )
    value, low, high = (f"{100 * number:.1f}" for number in (row.value, row.low, row.high))
    return (
        f"{row.learner}: forgetting starts at {row.feature} ({value} points below the ceiling, "
        f"95 % interval {low} to {high}{earliest})"
    )


def _sentences(layers: Iterable[LayerRow], starts: Sequence[StartRow]) -> list[str]:
    """Return a sentence for each learner that has rows of starts, in the order of the layers."""
    by_learner = {row.learner: row for row in starts}
    names = dict.fromkeys(row.learner for row in layers)
    return [start_sentence(by_learner[name]) for name in names if name in by_learner]


def _table(layers: Sequence[LayerRow]) -> Table:
    """Return a table with a section for each learner and a line for each of its features."""
    table = Table(box=SIMPLE, padding=0, pad_edge=False)
    for column in _COLUMNS:
        # A long name is folded; numbers never are.
        table.add_column(column, justify="right", no_wrap=bool(column), overflow="fold")
    table.columns[0].justify = "left"
    for learner in dict.fromkeys(row.learner for row in layers):
        table.add_row(Text(printable(learner), style="bold"))
        own = [row for row in layers if row.learner == learner]
        for feature, found in _by_feature(own).items():
            cells = (
                _percent(found.get("accuracy"), interval=True),
                _percent(found.get("floor")),
                _percent(found.get("ceiling")),
                _percent(found.get("missing")),
                _retained(found.get("retained")),
            )
            table.add_row(Text(f" {printable(feature)}"), *cells)
        table.add_section()
    return table


def _by_feature(layers: Iterable[LayerRow]) -> dict[str, _Rows]:
    """Return the rows of one learner by feature, in order of depth, and by quantity."""
    found: dict[str, _Rows] = {}
    for row in sorted(layers, key=lambda row: row.depth):
        found.setdefault(row.feature, {})[row.quantity] = row
    return found


def _percent(row: LayerRow | None, *, interval: bool = False, digits: int = 1) -> str:
    """Return a value in percent, with its interval or without, or a dash for no value."""
    if row is None or math.isnan(row.value):
        return "-"
    value, low, high = (f"{100 * x:.{digits}f}" for x in (row.value, row.low, row.high))
    return f"{value} [{low}, {high}]" if interval and not math.isnan(row.low) else value


def _retained(row: LayerRow | None) -> str:
    """Return what was retained, in whole percent, or that it cannot be told."""
    if row is not None and math.isnan(row.value):
        return "not identifiable"
    return _percent(row, interval=True, digits=0)
