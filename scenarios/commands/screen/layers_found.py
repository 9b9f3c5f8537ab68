"""What the command line shows of the layers of a study: what each lacks, and where that starts.

All of it comes from layers.csv and starts.csv; nothing is printed where they are missing, as in
directories of earlier versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.by_layer.plan import CONTROLS
from probe.tables.layer_text import COLUMNS, by_feature, layer_cells, start_sentence
from probe.tables.rows import LayerRow, StartRow
from probe.tables.table_file import read_table
from scenarios.commands.screen.terminal import printable

_READOUTS = {
    "retrain": "What each layer lacks when all behind it is retrained (readout retrain)",
    "linear": "What each layer lacks to a linear classifier behind it (readout linear)",
}


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
    of_all = [row for row in layers if row.place is None and row.learner not in CONTROLS]
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


def _sentences(layers: Iterable[LayerRow], starts: Sequence[StartRow]) -> list[str]:
    """Return a sentence for each learner that has rows of starts, in the order of the layers."""
    by_learner = {row.learner: row for row in starts}
    names = dict.fromkeys(row.learner for row in layers)
    return [start_sentence(by_learner[name]) for name in names if name in by_learner]


def _table(layers: Sequence[LayerRow]) -> Table:
    """Return a table with a section for each learner and a line for each of its features."""
    table = Table(box=SIMPLE, padding=0, pad_edge=False)
    for column in ("", *COLUMNS):
        # A long name is folded; numbers never are.
        table.add_column(column, justify="right", no_wrap=bool(column), overflow="fold")
    table.columns[0].justify = "left"
    for learner in dict.fromkeys(row.learner for row in layers):
        table.add_row(Text(printable(learner), style="bold"))
        own = [row for row in layers if row.learner == learner]
        for feature, found in by_feature(own).items():
            table.add_row(Text(f" {printable(feature)}"), *layer_cells(found))
        table.add_section()
    return table
