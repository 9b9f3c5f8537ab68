"""The layers of a study on the screen: accuracy missing in each, and where forgetting starts.

The numbers come from layers.csv and starts.csv; without these files nothing is printed.
"""

from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.tables.layer_text import layer_sheets
from probe.tables.rows import CONTROLS, LayerRow, StartRow
from probe.tables.sheets import Sheet
from probe.tables.table_file import read_table
from scenarios.commands.screen.terminal import printable, show_line

_READOUTS = {
    "retrain": "Accuracy missing in each layer, everything downstream retrained (readout retrain)",
    "linear": "Accuracy missing in each layer, a linear classifier downstream (readout linear)",
}


def show_layers_found(console: Console, root: Path) -> None:
    """Print the layers of a run directory over all tasks, a table for each learner and readout.

    The readouts are `retrain` and `linear`; the controls are left out. Numbers are in %, missing in
    points of accuracy; brackets hold 95 % intervals, of several seeds. Raises InputError for tables
    that cannot be read.
    """
    path, starts = root / "layers.csv", root / "starts.csv"
    if not path.is_file():
        return
    rows = read_table(path, LayerRow, lambda cells: cells["place"] is None)
    said = read_table(starts, StartRow) if starts.is_file() else []
    learned = [row for row in rows if row.learner not in CONTROLS]
    for readout, title in _READOUTS.items():
        sheets = layer_sheets((row for row in learned if row.readout == readout), said)
        if sheets:
            console.print(title, markup=False, highlight=False)
        for sheet in sheets:
            console.print(printable(sheet.heading), markup=False, highlight=False)
            show_sheet(console, sheet)


def show_sheet(console: Console, sheet: Sheet) -> None:
    """Print a sheet without its heading; a long first cell is folded, others never are."""
    table = Table(box=SIMPLE, padding=0, pad_edge=False)
    for column in sheet.columns:
        table.add_column(Text(printable(column)), justify="right", no_wrap=True)
    first = table.columns[0]
    first.justify, first.no_wrap, first.overflow = "left", False, "fold"
    for name, *cells in sheet.lines:
        table.add_row(Text(printable(name)), *map(Text, cells))
    console.print(table)
    for sentence in sheet.after:
        show_line(console, sentence)
