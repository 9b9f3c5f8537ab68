"""The rows of layers.csv, statements.csv, first_layer.csv: quantities of layers, statements."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan
from operator import attrgetter
from typing import Any

from probe.analysis.intervals import Estimate
from probe.analysis.layers import LayerOutcomes, Quantity, TestLayout, quantities
from probe.analysis.statements import (
    FEWEST,
    STATEMENTS,
    first_layer,
    margin,
    seeds_to_decide,
    verdict,
)
from probe.tables.rows import FirstLayerRow, LayerRow, StatementRow, grouped


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """One feature of a learner's network, with the scores of one readout.

    depth: of the feature, from 1; converged: whether all trainings of the readout are, those of
    floor and ceiling among them, on which margin and difference rest; chance: the accuracy of
    guessing, at the output alone.
    """

    learner: str
    readout: str
    feature: str
    depth: int
    outcomes: LayerOutcomes
    layout: TestLayout
    converged: bool = True
    chance: float | None = None

    @property
    def seeds(self) -> int:
        """S, the number of seeds."""
        return len(self.outcomes.rows[self.layout.orders.shape[1]])

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities that the outcomes allow."""
        return quantities(self.outcomes, self.layout)

    @property
    def _at(self) -> dict[str, Any]:
        at = {"learner": self.learner, "readout": self.readout}
        return at | {"feature": self.feature, "depth": self.depth}

    def rows(self) -> Iterator[LayerRow]:
        """Yield a row for each quantity, and chance where it is known."""
        row = partial(LayerRow, **self._at)
        for found in self.quantities:
            yield row(**found.columns)
        if self.chance is not None:
            chance = partial(row, value=self.chance, low=nan, high=nan)
            yield chance(task_position=None, quantity="chance", seeds=self.seeds)

    def statements(self) -> Iterator[StatementRow]:
        """Yield the statements that the quantities allow.

        None on what the output acquires: it competes with the classes seen so far alone, the
        ceiling's with all.
        """
        found = {q.quantity: q for q in self.quantities if q.task_position is None}
        ends = [found[name].value if name in found else nan for name in ("ceiling", "floor")]
        at_output = self.chance is not None
        for name in (name for name, quantity in STATEMENTS.items() if quantity in found):
            if at_output and name not in ("below_ceiling", "forgets"):
                continue
            own = found[STATEMENTS[name]]
            positions = self.layout.orders.shape[1] - 1 if name == "loses_plasticity" else 1
            least = margin(ends[0] - ends[1], positions)
            yield StatementRow(
                **self._at,
                statement=name,
                verdict=verdict(own, least, converged=self.converged),
                margin=least,
                value=own.value,
                low=own.low,
                high=own.high,
                seeds=own.seeds,
                by_seed=" ".join(map(repr, own.seed_values)),
            )


def start_rows(
    stated: Iterable[StatementRow], depths: Mapping[str, int]
) -> Iterator[FirstLayerRow]:
    """Yield the range of the first layer for each learner, readout and statement.

    depths: the number of layers of each learner, the output among them. Yields nothing for fewer
    than 3 seeds, nor where a layer lacks the statement: the first of the remaining layers need not
    be the first of all.
    """
    first = (row for row in stated if row.statement != "loses_plasticity")
    groups = grouped(first, "learner", "readout", "statement")
    for (learner, readout, statement), own in groups.items():
        seeds, lacks = max(row.seeds for row in own), statement == "learns_less"
        if len(own) >= depths[learner] - lacks and seeds >= FEWEST:
            own.sort(key=attrgetter("depth"))
            earliest, latest = first_layer([row.verdict for row in own])
            yield FirstLayerRow(
                learner=learner,
                readout=readout,
                statement=statement,
                first_possible="" if earliest is None else own[earliest].feature,
                first_confirmed="" if latest is None else own[latest].feature,
                seeds=seeds,
                seeds_needed=_needed(own, earliest, latest),
            )


def _needed(stated: Sequence[StatementRow], earliest: int | None, latest: int | None) -> int | None:
    """Return about how many seeds would decide the earliest layer of a long range."""
    if earliest is None or (latest is not None and latest - earliest < 2):
        return None
    row = stated[earliest]
    if row.verdict != "open":
        return None
    found = Estimate(value=row.value, low=row.low, high=row.high, seeds=row.seeds)
    return seeds_to_decide(found, row.margin)
