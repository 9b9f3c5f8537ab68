"""The starting feature of forgetting: the first layer that is clearly below the ceiling."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.analysis.crossed import Design, Floats
from probe.analysis.intervals import LEVEL, Estimate, mean_of


@dataclass(frozen=True, kw_only=True)
class Start:
    """The start of forgetting among L layers, numbered from 0 by depth.

    index: the first layer that is significantly below the ceiling by more than the margin, None
    without one; earliest: the first layer for which this cannot be excluded, None without one or
    with a single seed; estimates: each layer's difference to the ceiling, with simultaneous
    intervals.
    """

    index: int | None
    earliest: int | None
    estimates: tuple[Estimate, ...]


def starting_feature(
    differences: Sequence[Floats], w: Floats, strata: NDArray[np.integer], margin: float
) -> Start:
    """Return the first layer by depth whose difference to the ceiling exceeds the margin.

    differences: of each of L layers, by depth, (S, n), right by the ceiling minus right by the
    learner, for each seed and test example; w, strata: see `probe.analysis.crossed.Design`;
    margin: a fraction. All layers have the same seeds; one seed is not enough for a test.

    Holm's one-sided test over layers: the probability that any layer is wrongly declared to be
    beyond the margin is at most (1 - LEVEL) / 2, 2.5 %. With 3 seeds it may be 3.5 % for 4 layers
    and 6.5 % for 25, with 2 seeds about twice as much, at the worst shares of seeds and examples in
    the variance. The estimates have Bonferroni's intervals, as Holm's test has no useful ones; it
    rejects at least as much, so that the interval of the starting layer may include the margin.

    Source: Murata 2020 (starting feature); Holm, Scandinavian Journal of Statistics 1979.
    """
    design, seeds = Design(w, strata), len(differences[0])
    together = 1 - (1 - LEVEL) / len(differences)
    estimates = tuple(mean_of(design, e, together) for e in differences)
    if seeds == 1:
        return Start(index=None, earliest=None, estimates=estimates)
    spreads = [design.spread(design.components(design.scaled(e)), seeds) for e in differences]
    p = [s.p_above(e.value - margin) for s, e in zip(spreads, estimates, strict=True)]
    found = holm(np.array(p), (1 - LEVEL) / 2)
    may = np.array([estimate.high > margin for estimate in estimates])
    return Start(index=_first(found), earliest=_first(may | found), estimates=estimates)


def holm(p: Floats, alpha: float) -> NDArray[np.bool_]:
    """Return which of L hypotheses Holm's test rejects, (L,), from their p-values (L,).

    The chance of rejecting any true one is at most alpha, however they depend on each other.

    >>> holm(np.array([0.02, 0.01, 0.3]), 0.05).tolist()
    [True, True, False]
    """
    order = np.argsort(p, kind="stable")
    passed = p[order] <= alpha / np.arange(len(p), 0, -1)
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order] = np.logical_and.accumulate(passed)
    return rejected


def _first(layers: NDArray[np.bool_]) -> int | None:
    return int(layers.argmax()) if layers.any() else None
