"""The rows of layers.csv and starts.csv: shares retained, and the layer where forgetting starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan

import numpy as np
from numpy.typing import NDArray

from probe.analysis.intervals import Estimate
from probe.analysis.layers import LayerOutcomes, TestLayout, quantities
from probe.analysis.starting import starting_feature
from probe.tables.rows import LayerRow, StartRow

MARGIN = 0.01
"""Margin below the ceiling, a fraction of accuracy, beyond which a layer counts as forgetting."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """One feature of a learner's network, with the scores of one readout.

    depth: of the feature, from 1; chance: the accuracy of guessing, at the output alone.
    """

    learner: str
    readout: str
    feature: str
    depth: int
    outcomes: LayerOutcomes
    layout: TestLayout
    chance: float | None = None

    @property
    def seeds(self) -> int:
        """S, the number of seeds."""
        return len(self._last)

    @property
    def lacking(self) -> NDArray[np.float64]:
        """The ceiling minus the last row, (S, n), as a mean over the orders."""
        if self.outcomes.ceiling is None:
            raise ValueError("there is no ceiling")
        return np.asarray(self.outcomes.ceiling - self._last.mean(axis=1))

    @property
    def _last(self) -> NDArray[np.bool_]:
        return self.outcomes.rows[self.layout.orders.shape[1]]

    def rows(self) -> Iterator[LayerRow]:
        """Yield a row for each quantity that the outcomes allow, and chance where it is known."""
        row = partial(
            LayerRow,
            learner=self.learner,
            readout=self.readout,
            feature=self.feature,
            depth=self.depth,
        )
        for found in quantities(self.outcomes, self.layout):
            yield row(**vars(found))
        if self.chance is not None:
            chance = Estimate(value=self.chance, low=nan, high=nan, seeds=self.seeds)
            yield row(place=None, quantity="chance", **vars(chance))


def start_row(layers: Sequence[Layer]) -> StartRow:
    """Return where forgetting starts among the layers of one learner and readout, by depth.

    All have a ceiling; see `probe.analysis.starting`.
    """
    one = layers[0]
    n = len(one.layout.tasks)
    lacking = [layer.lacking for layer in layers]
    found = starting_feature(lacking, np.full(n, 1 / n), one.layout.strata, MARGIN)
    nothing = Estimate(value=nan, low=nan, high=nan, seeds=one.seeds)
    return StartRow(
        learner=one.learner,
        readout=one.readout,
        feature="" if found.index is None else layers[found.index].feature,
        earliest="" if found.earliest is None else layers[found.earliest].feature,
        margin=MARGIN,
        **vars(nothing if found.index is None else found.estimates[found.index]),
    )
