"""Heat maps of layers by tasks as data, which the page and the figures draw.

A cell is a number in points of accuracy and a tone of one color: the more was lost, the
darker; nothing lost, or more there than before, is white. A number whose interval
includes 0 is `weak`; a cell without a statement is `withheld`.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from figures.captions import counted
from figures.tables import unjudged
from probe.immutable import immutable
from probe.tables.layer_text import interval, points
from probe.tables.schemas import TRAINING
from probe.tables.sheets import Sheet
from probe.tables.table_file import records, where

ALL = "all"
"""The name of the column of all tasks, and of the number of tasks seen after all tasks."""

BORDERS = (0.5, 1, 2, 5, 10, 20, 50)
"""The points of accuracy from which each tone is drawn."""

_QUANTITIES = ("missing", "never_learned", "forgotten", "accuracy", "floor", "ceiling")


@immutable
class Cell:
    """A cell of a map.

    Attributes:
        text: The text in the cell.
        tone: The tone of its color, from 0, white, to 7; None = empty.
        weak: Whether its interval includes 0.
        withheld: Whether nothing is stated about it.
        tip: The text with all numbers.
        value: The loss as a fraction, NaN where the cell is none.
    """

    text: str = ""
    tone: int | None = None
    weak: bool = False
    withheld: bool = False
    tip: str = ""
    value: float = math.nan


@immutable
class HeatMap:
    """A map: rows by columns of cells, with the titles of both, and a table of all numbers."""

    kind: ClassVar[str] = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    table: Sheet
    down: str = "layer"
    across: str = "task position"

    @property
    def all_cells(self) -> list[Cell]:
        """All cells of the map."""
        return list(chain.from_iterable(self.cells))


class LayerMap(NamedTuple):
    """A map of a learner: the readout that it is by, and the map."""

    learner: str
    readout: str
    view: HeatMap


def missing_maps(layers: pd.DataFrame, statements: pd.DataFrame) -> Iterator[LayerMap]:
    """Yield what is missing in each layer on each task, for each learner and readout."""
    for (learner, readout), rows in of_layers(layers):
        withheld = unjudged(statements, learner, readout)
        view = layer_map(rows, _QUANTITIES, withheld)
        if any(cell.tone is not None for cell in view.all_cells):
            yield LayerMap(learner, readout, view)


def layer_map(
    layers: pd.DataFrame, quantities: Sequence[str], withheld: Collection[str] = ()
) -> HeatMap:
    """Return a map of the first quantity, of layers by task position.

    The tips of the cells and the table of numbers have all quantities.

    Args:
        layers: The rows of layers.csv of one learner and readout.
        quantities: The names of the quantities.
        withheld: The layers without a statement.
    """
    features = list(layers["feature"].unique())
    positions = [*sorted(set(layers["task_position"].dropna())), None]
    names = [str(position or ALL) for position in positions]
    # Rows of the table by layer and task position, then by quantity.
    rows_of = defaultdict[Any, dict[str, Any]](dict)
    for row in records(layers):
        rows_of[row.feature, row.task_position][row.quantity] = row
    cells = []
    lines = []
    for feature in features:
        row_of_cells = []
        for position, name in zip(positions, names, strict=True):
            rows = [rows_of[feature, position].get(quantity) for quantity in quantities]
            row_of_cells.append(_cell(rows, feature in withheld))
            lines.append((feature, name, *map(interval, rows)))
        cells.append(row_of_cells)
    titles = (name.replace("_", " ") for name in quantities)
    return HeatMap(
        rows=features,
        columns=names,
        cells=cells,
        table=Sheet(columns=["layer", "task position", *titles], lines=lines),
    )


def _cell(rows: Sequence[Any], withheld: bool) -> Cell:
    """Return the cell of a layer on a task, which shows the first of its quantities.

    Args:
        rows: The row of each quantity, None if it was not measured.
        withheld: Whether nothing is stated about the layer.
    """
    row = rows[0]
    if row is None or math.isnan(row.value):
        return Cell()
    measured = filter(None, rows)
    texts = "; ".join(f"{q.quantity.replace('_', ' ')} {interval(q)}" for q in measured)
    tasks = f"task position {row.task_position}" if row.task_position else "all tasks"
    networks = "these networks"
    if row.scope == TRAINING:
        networks = counted(row.seeds, "seed")
    return Cell(
        text=points(row.value),
        tone=tone(row.value),
        weak=row.low <= 0 <= row.high,
        withheld=withheld,
        tip=f"{row.feature}, {tasks}: {texts}; {networks}",
        value=row.value,
    )


def of_layers(layers: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of each learner's layers, by depth, one readout after another."""
    order = layers[["readout", "learner"]].drop_duplicates()
    layers = layers.sort_values("depth", kind="stable")
    for readout in order["readout"].unique():
        for learner in where(order, readout=readout)["learner"]:
            yield (learner, readout), where(layers, readout=readout, learner=learner)


def tone(value: float) -> int:
    """Return the tone of a loss of accuracy, a fraction: the number of borders that it reaches.

    >>> tone(0.03), tone(-0.3), tone(0.001)
    (3, 0, 0)
    """
    return sum(100 * value >= border for border in BORDERS)
