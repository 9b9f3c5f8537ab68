"""Rows of layers.csv, statements.csv, statement_seeds.csv and first_layer.csv."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from probe.tables.rows import FirstLayerRow, LayerRow, StatementRow, StatementSeedRow, grouped


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """One feature of a learner's network, with the scores of one readout.

    Attributes:
        learner: Name of the learner.
        readout: Name of the readout.
        feature: Name of the feature.
        depth: Depth of the feature, from 1.
        seeds: The S seeds of the outcomes.
        outcomes: Which test examples were classified correctly.
        layout: The test examples.
        converged: Whether all trainings of the readout converged, including those of floor and
            ceiling, on which margin and difference rest.
        chance: The accuracy of guessing, only at the output.
    """

    learner: str
    readout: str
    feature: str
    depth: int
    seeds: tuple[int, ...]
    outcomes: LayerOutcomes
    layout: TestLayout
    converged: bool = True
    chance: float | None = None

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities that the outcomes allow."""
        return quantities(self.outcomes, self.layout)

    @property
    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("learner", "readout", "feature", "depth")}

    @property
    def _deciding(self) -> dict[str, Quantity]:
        """The quantity over all tasks that decides each statement.

        There is no statement on what the output acquires: it competes only with the classes seen
        so far, the ceiling's with all.
        """
        of_all_tasks = {q.quantity: q for q in self.quantities if q.task_position is None}
        at_output = ("below_ceiling", "forgets")
        names = STATEMENTS if self.chance is None else at_output
        stated = {name: of_all_tasks.get(STATEMENTS[name]) for name in names}
        return {name: quantity for name, quantity in stated.items() if quantity}

    def rows(self) -> Iterator[LayerRow]:
        """Yield a row for each quantity, and the accuracy of guessing where it is known."""
        for quantity in self.quantities:
            yield LayerRow(**self._columns, **quantity.columns)
        if self.chance is not None:
            chance: dict[str, Any] = {"value": self.chance, "low": nan, "high": nan}
            chance |= {"task_position": None, "quantity": "chance", "seeds": len(self.seeds)}
            yield LayerRow(**self._columns, **chance)

    def statements(self) -> Iterator[StatementRow]:
        """Yield the statements that the quantities allow."""
        value = {q.quantity: q.value for q in self.quantities if q.task_position is None}
        room = value.get("ceiling", nan) - value.get("floor", nan)
        for name, quantity in self._deciding.items():
            positions = self.layout.orders.shape[1] - 1 if name == "loses_plasticity" else 1
            least = margin(room, positions)
            yield StatementRow(
                **self._columns,
                statement=name,
                verdict=verdict(quantity, least, converged=self.converged),
                margin=least,
                value=quantity.value,
                low=quantity.low,
                high=quantity.high,
                seeds=quantity.seeds,
            )

    def statement_seeds(self) -> Iterator[StatementSeedRow]:
        """Yield the value of each seed in each statement."""
        for name, quantity in self._deciding.items():
            for seed, value in zip(self.seeds, quantity.seed_values, strict=True):
                yield StatementSeedRow(**self._columns, statement=name, seed=seed, value=value)


def first_layer_rows(
    statements: Iterable[StatementRow], depths: Mapping[str, int]
) -> Iterator[FirstLayerRow]:
    """Yield the range of the first layer for each learner, readout and statement.

    Yields nothing for fewer than 3 seeds, nor where a layer lacks the statement: the first of the
    remaining layers need not be the first of all.

    Args:
        statements: On all layers.
        depths: The number of layers of each learner, the output among them.
    """
    by_layer = (row for row in statements if row.statement != "loses_plasticity")
    groups = grouped(by_layer, "learner", "readout", "statement")
    for (learner, readout, statement), rows in groups.items():
        seeds, layers = max(row.seeds for row in rows), depths[learner]
        if seeds < FEWEST or len(rows) < layers - (statement == "learns_less"):
            continue
        rows.sort(key=attrgetter("depth"))
        first, last = first_layer([row.verdict for row in rows])
        yield FirstLayerRow(
            learner=learner,
            readout=readout,
            statement=statement,
            first_possible="" if first is None else rows[first].feature,
            first_confirmed="" if last is None else rows[last].feature,
            seeds=seeds,
            seeds_needed=_seeds_needed(rows, first, last),
        )


def _seeds_needed(rows: Sequence[StatementRow], first: int | None, last: int | None) -> int | None:
    """Return about how many seeds would decide the first layer of a long range."""
    if first is None or (last is not None and last - first < 2) or rows[first].verdict != "open":
        return None
    row = rows[first]
    estimate = Estimate(value=row.value, low=row.low, high=row.high, seeds=row.seeds)
    return seeds_to_decide(estimate, row.margin)
