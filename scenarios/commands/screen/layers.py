"""The layers of a study on the screen: accuracy missing in each, and what that shows.

The numbers come from the tables of layers and statements; without these files nothing is printed.
Accuracies after several multiples of the retraining's epochs have sheets of their own.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.text import Text

from probe.tables.budget_text import budget_sheets
from probe.tables.folder import KINDS
from probe.tables.layer_text import control_sheets, layer_sheets
from probe.tables.rows import CONTROLS, LayerRow
from probe.tables.table_file import read_table
from scenarios.commands.screen.sheets import show_sheet, show_table
from scenarios.commands.screen.terminal import printable

_READOUTS = {
    "retrain": "Accuracy missing in each layer, everything downstream retrained (readout retrain)",
    "linear": "Accuracy missing in each layer, a linear classifier downstream (readout linear)",
    "linear-task": "Accuracy missing in each layer, a linear classifier per task (linear-task)",
}
# From white to a dark orange, a scale that survives in black and white.
_LIGHT, _DARK = (255, 255, 255), (166, 54, 3)
_MOST = 12  # columns that fit on a page


def show_layers(console: Console, root: Path, *, maps: bool = False) -> None:
    """Print the layers of a run directory over all tasks, a table for each learner and readout.

    The readouts are those of `_READOUTS`; the controls are left out. Numbers are in %, missing in
    points of accuracy; brackets hold 95 % intervals, of several seeds. maps: whether to print the
    heat maps of every readout, too. Raises InputError for tables that cannot be read.
    """
    names = ("layers", "statements", "statement_seeds", "first_layer", "notes", "controls")
    tables = {name: _read(root, name) for name in names}
    rows = [row for row in tables["layers"] if row.learner not in CONTROLS]
    for readout, title in _READOUTS.items():
        layers = [row for row in rows if row.readout == readout]
        sheets = layer_sheets({**tables, "layers": layers})
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
    places = sorted({row.task_position or 0 for row in layers})
    if len(places) > _MOST:
        return
    for learner, readout in dict.fromkeys((row.learner, row.readout) for row in layers):
        own = [row for row in layers if (row.learner, row.readout) == (learner, readout)]
        missing = any(row.quantity == "missing" and not math.isnan(row.value) for row in own)
        what = "points below the ceiling" if missing else "accuracy in %"
        title = f"{learner}, {readout}: {what} after all tasks, by task position"
        console.print(printable(title), markup=False, highlight=False)
        shown = "missing" if missing else "accuracy"
        cells = {(r.feature, r.task_position): 100 * r.value for r in own if r.quantity == shown}
        features = dict.fromkeys(row.feature for row in sorted(own, key=lambda row: row.depth))
        lines = []
        for feature in features:
            each = (
                _cell(cells.get((feature, task_position), math.nan), missing)
                for task_position in places
            )
            lines.append((Text(printable(feature)), *each))
        show_table(console, ["", *(f"{task_position} " for task_position in places)], lines)


def _cell(value: float, dark_is_high: bool) -> Text:
    """Return a number on its color, or a dash for NaN."""
    if math.isnan(value):
        return Text("-  ", justify="right")
    share = min(max(value / 100 if dark_is_high else 1 - value / 100, 0.0), 1.0)
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
    style = Style(color="white" if share > 0.55 else "black", bgcolor=f"rgb({red},{green},{blue})")
    return Text(f"{value:6.1f} ", style=style)
