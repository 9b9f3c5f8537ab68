"""Rows of the tables `layers`, `statements` and `statement_seeds`, and the table `first_layer`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import pandas as pd

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
from probe.tables.table_file import new_table

Row = Mapping[str, Any]
"""The cells of a row of a table, by column."""


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

    def rows(self) -> Iterator[Row]:
        """Yield a row for each quantity, and the accuracy of guessing where it is known."""
        for quantity in self.quantities:
            yield {**self._columns, **quantity.columns}
        if self.chance is not None:
            chance = {"quantity": "chance", "value": self.chance, "seeds": len(self.seeds)}
            yield {**self._columns, **chance}

    def statements(self) -> Iterator[Row]:
        """Yield the statements that the quantities allow."""
        value = {q.quantity: q.value for q in self.quantities if q.task_position is None}
        room = value.get("ceiling", nan) - value.get("floor", nan)
        for name, quantity in self._deciding.items():
            positions = self.layout.orders.shape[1] - 1 if name == "loses_plasticity" else 1
            least = margin(room, positions)
            decided = verdict(quantity, least, converged=self.converged)
            stated = {"statement": name, "verdict": decided, "margin": least}
            yield {**self._columns, **quantity.columns, **stated}

    def statement_seeds(self) -> Iterator[Row]:
        """Yield the value of each seed in each statement."""
        for name, quantity in self._deciding.items():
            for seed, value in zip(self.seeds, quantity.seed_values, strict=True):
                yield {**self._columns, "statement": name, "seed": seed, "value": value}


def first_layers(statements: pd.DataFrame, depths: Mapping[str, int]) -> pd.DataFrame:
    """Return the range of the first layer for each learner, readout and statement.

    There is none for fewer than 3 seeds, nor where a layer lacks the statement: the first of the
    remaining layers need not be the first of all.

    Args:
        statements: On all layers.
        depths: The number of layers of each learner, the output among them.

    Returns:
        The table `first_layer`.
    """
    by_layer = statements[statements["statement"] != "loses_plasticity"]
    ranges = []
    for key, rows in by_layer.groupby(["learner", "readout", "statement"], sort=False):
        seeds, layers = int(rows["seeds"].max()), depths[key[0]]
        if seeds < FEWEST or len(rows) < layers - (key[2] == "learns_less"):
            continue
        by_depth = list(rows.sort_values("depth", kind="stable").itertuples())
        first, last = first_layer([row.verdict for row in by_depth])
        names = ["" if index is None else by_depth[index].feature for index in (first, last)]
        ranges.append((*key, *names, seeds, _seeds_needed(by_depth, first, last)))
    return new_table("first_layer", ranges)


def _seeds_needed(rows: list[Any], first: int | None, last: int | None) -> int | None:
    """Return about how many seeds would decide the first layer of a long range."""
    if first is None or (last is not None and last - first < 2) or rows[first].verdict != "open":
        return None
    row = rows[first]
    estimate = Estimate(value=row.value, low=row.low, high=row.high, seeds=row.seeds)
    return seeds_to_decide(estimate, row.margin)
