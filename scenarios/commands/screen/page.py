"""A page of results on the screen: tables, heat maps of layers by task position, and notes."""

import math
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from probe.tables.rows import CONTROLS, LayerRow
from probe.tables.table_file import read_table
from scenarios.commands.screen.layers_found import show_layers_found
from scenarios.commands.screen.results import note_lines
from scenarios.commands.screen.terminal import printable, show_line

# From white to a dark orange, a scale that survives in black and white.
_LIGHT, _DARK = (255, 255, 255), (166, 54, 3)
_MOST = 12  # columns that fit on a page


def show_heat(console: Console, layers: Sequence[LayerRow]) -> None:
    """Print a map for each learner and readout: features by depth, tasks by position, in points.

    A cell shows the accuracy missing against the ceiling, darker for more; without a ceiling the
    accuracy, darker for less. Prints nothing for more tasks than fit.
    """
    of_tasks = [row for row in layers if row.place is not None and row.learner not in CONTROLS]
    places = sorted({row.place or 0 for row in of_tasks})
    if not places or len(places) > _MOST:
        return
    for learner, readout in dict.fromkeys((row.learner, row.readout) for row in of_tasks):
        own = [row for row in of_tasks if (row.learner, row.readout) == (learner, readout)]
        missing = any(row.quantity == "missing" and not math.isnan(row.value) for row in own)
        what = "points below the ceiling" if missing else "accuracy in %"
        title = f"{learner}, {readout}: {what} after all tasks, by task position"
        console.print(printable(title), markup=False, highlight=False)
        table = Table(box=SIMPLE, padding=0, pad_edge=False)
        table.add_column("", overflow="fold")
        for place in places:
            table.add_column(f"{place} ", justify="right", no_wrap=True)
        shown = "missing" if missing else "accuracy"
        cells = {(r.feature, r.place): 100 * r.value for r in own if r.quantity == shown}
        for feature in dict.fromkeys(row.feature for row in sorted(own, key=lambda row: row.depth)):
            each = (_cell(cells.get((feature, place), math.nan), missing) for place in places)
            table.add_row(printable(feature), *each)
        console.print(table)


def _cell(value: float, dark_is_high: bool) -> Text:
    """Return a number on its color, or a dash for NaN."""
    if math.isnan(value):
        return Text("-  ", justify="right")
    share = min(max(value / 100 if dark_is_high else 1 - value / 100, 0.0), 1.0)
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
    style = Style(color="white" if share > 0.55 else "black", bgcolor=f"rgb({red},{green},{blue})")
    return Text(f"{value:6.1f} ", style=style)


def show_page(console: Console, root: Path) -> None:
    """Print the results in the run directory of given networks: tables, maps and notes.

    Raises InputError for tables that cannot be read.
    """
    show_layers_found(console, root)
    if (root / "layers.csv").is_file():
        show_heat(console, read_table(root / "layers.csv", LayerRow))
    lines = note_lines(root)
    lines.append(f"tables: {root}/*.csv, figures: {root / 'figures'}: see layers and depth first")
    for line in lines:
        show_line(console, line)
