"""Printing of tables on the screen, all in the same style."""

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.errors import printable
from probe.tables.sheets import Sheet
from scenarios.commands.screen.terminal import show_line


def show_sheet(sheet: Sheet) -> None:
    """Print a sheet with its heading, if it has one, and the sentences below it.

    Only a long first cell of a line is folded; intervals go below their means where it
    is narrow.

    Args:
        sheet: The sheet.
    """
    console = Console()
    if sheet.heading:
        console.print(printable(sheet.heading), markup=False, highlight=False)
    table = Table(box=SIMPLE, padding=0, pad_edge=False)
    for k, column in enumerate(sheet.columns):
        has_intervals = any("[" in line[k] for line in sheet.lines)
        table.add_column(
            Text(printable(column)), justify="right", no_wrap=not has_intervals
        )
    first = table.columns[0]
    first.justify = "left"
    first.no_wrap = False
    first.overflow = "fold"
    for name, *rest in sheet.lines:
        table.add_row(Text(printable(name)), *(Text(printable(cell)) for cell in rest))
    console.print(table)
    for sentence in sheet.after:
        show_line(sentence)
