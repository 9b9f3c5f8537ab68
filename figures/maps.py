"""Maps of layers by tasks, from input to output and from the first task on: the page and files.

A cell is a number in points of accuracy and a tone of one color: the more was lost, the
darker; nothing lost, or more there than before, is white. A number whose interval
includes 0 is `weak`; a cell on which nothing is stated is `withheld`.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import pandas as pd

from figures.captions import counted
from figures.tables import unjudged
from probe.immutable import immutable
from probe.tables.layer_text import interval
from probe.tables.schemas import TRAINING
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points
from probe.tables.table_file import records, where

ALL = "all"
"""The name of the column of all tasks, and of the number of tasks seen after all tasks."""

BORDERS = (0.5, 1, 2, 5, 10, 20, 50)
"""The points of accuracy from which each tone is drawn."""

FIRST = "linear"
"""The readout that is shown first, where it was measured."""

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

    @classmethod
    def lost(
        cls, value: float, tip: str, *, weak: bool = False, withheld: bool = False
    ) -> Self:
        """Return the cell of a loss of accuracy, a fraction; empty for NaN."""
        if math.isnan(value):
            return cls()
        return cls(
            text=points(value),
            tone=tone(value),
            weak=weak,
            withheld=withheld,
            tip=tip,
            value=value,
        )


@immutable
class HeatMap:
    """A map: rows by columns of cells, with the titles of both, and a table.

    Without `numbers`, the table has the texts of the cells.
    """

    kind: ClassVar[str] = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    down: str = "layer"
    across: str = "task position"
    numbers: Sheet | None = None

    @property
    def table(self) -> Sheet:
        """The numbers of the map, or the texts of its cells."""
        pairs = zip(self.rows, self.cells, strict=True)
        lines = [(name, *(cell.text for cell in cells)) for name, cells in pairs]
        titles = [f"{self.down} / {self.across}", *self.columns]
        return self.numbers or Sheet(columns=titles, lines=lines)


class LayerMap(NamedTuple):
    """A map of a learner: the readout that it is by, and the map."""

    learner: str
    readout: str
    view: HeatMap


def missing_maps(layers: pd.DataFrame, statements: pd.DataFrame) -> Iterator[LayerMap]:
    """Yield what is missing in each layer on each task, for each learner and readout."""
    withheld = unjudged(statements)
    for (learner, readout), rows in of_layers(layers):
        features = [
            f for f in rows["feature"].unique() if (learner, readout, f) in withheld
        ]
        view = layer_map(rows, _QUANTITIES, features)
        if any(cell.tone is not None for row in view.cells for cell in row):
            yield LayerMap(learner, readout, view)


def layer_map(
    layers: pd.DataFrame, quantities: Sequence[str], withheld: Collection[str] = ()
) -> HeatMap:
    """Return the first quantity of layers by task position; tips and numbers have all of them."""
    features = list(layers["feature"].unique())
    by_key = {
        (row.feature, row.task_position, row.quantity): row for row in records(layers)
    }
    positions = [*sorted(set(layers["task_position"].dropna())), None]
    cells = []
    lines = []
    for feature in features:
        of_positions = [
            {
                q: by_key[key]
                for q in quantities
                if (key := (feature, position, q)) in by_key
            }
            for position in positions
        ]
        cells.append(
            [
                _cell(of_one, quantities[0], feature in withheld)
                for of_one in of_positions
            ]
        )
        for position, row_of in zip(positions, of_positions, strict=True):
            texts = (interval(row_of.get(quantity)) for quantity in quantities)
            lines.append((feature, str(position or ALL), *texts))
    columns = [
        "layer",
        "task position",
        *(name.replace("_", " ") for name in quantities),
    ]
    return HeatMap(
        rows=features,
        columns=[str(position or ALL) for position in positions],
        cells=cells,
        numbers=Sheet(columns=columns, lines=lines),
    )


def _cell(row_of: Mapping[str, Any], quantity: str, withheld: bool) -> Cell:
    """Return the cell for the quantities of a layer on a task."""
    if quantity not in row_of:
        return Cell()
    row = row_of[quantity]
    texts = "; ".join(
        f"{name.replace('_', ' ')} {interval(q)}" for name, q in row_of.items()
    )
    at = f"task position {row.task_position}" if row.task_position else "all tasks"
    networks = counted(row.seeds, "seed") if row.scope == TRAINING else "these networks"
    tip = f"{row.feature}, {at}: {texts}; {networks}"
    return Cell.lost(row.value, tip, weak=row.low <= 0 <= row.high, withheld=withheld)


def of_layers(layers: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of each learner's layers, by depth, one readout after another."""
    order = layers[["readout", "learner"]].drop_duplicates()
    layers = layers.sort_values("depth", kind="stable")
    readouts = list(order["readout"].unique())
    pairs = sorted(
        order.itertuples(index=False), key=lambda pair: readouts.index(pair.readout)
    )
    for readout, learner in pairs:
        yield (learner, readout), where(layers, readout=readout, learner=learner)


def tone(value: float) -> int:
    """Return the tone of a loss of accuracy, a fraction: the number of borders that it reaches.

    >>> tone(0.03), tone(-0.3), tone(0.001)
    (3, 0, 0)
    """
    return sum(100 * value >= border for border in BORDERS)
