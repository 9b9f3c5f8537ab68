"""Statements on layers, each decided by the interval printed with it, and the first layer.

A layer's difference, such as `forgotten`, is above the margin where the low end of its 95 %
interval is, and below it where the high end is; else the question is open. The margin is a share
of the room C - b between floor and ceiling, and at least a stated number of points.
"""

import math
from collections.abc import Sequence

from probe.analysis.intervals import LEVEL, Estimate

STATEMENTS = {
    "below_ceiling": "missing",
    "forgets": "forgotten",
    "learns_less": "never_learned",
    "loses_plasticity": "never_learned_slope",
}
"""The statements by name, with the quantity that decides each, see `probe.analysis.layers`."""

LEAST = 0.01
"""The smallest margin, a fraction of accuracy."""

SHARE = 0.1
"""The margin as a share of the room between floor and ceiling."""

FEWEST = 3
"""The seeds below which nothing is stated: the interval of two is 4.7 times as wide."""

UNFINISHED = "its training has not converged"
"""The beginning of the note on a training that did not converge."""

STUCK = "its training had no effect: the loss stayed at that of its first batch"
"""The note on a training without effect."""

_MOST = 100  # seeds that are asked for


def margin(room: float, positions: int = 1) -> float:
    """Return the margin of a layer with that room C - b, a fraction; NaN = no floor or ceiling.

    positions: over which the difference is reached, for a slope.

    >>> margin(0.5), margin(0.02), margin(math.nan), margin(0.5, positions=5)
    (0.05, 0.01, 0.01, 0.01)
    """
    # In this order NaN is never the larger one.
    return max(LEAST, SHARE * room) / positions


def verdict(found: Estimate, margin: float, *, converged: bool = True) -> str:
    """Return `yes` where a difference is beyond the margin, `no` where not, `open` in between.

    `few seeds` and `not converged` where nothing can be stated; `probe.results.training_checks` has
    further reasons. converged: whether all trainings that it rests on are.

    >>> verdict(Estimate(value=0.05, low=0.02, high=0.08, seeds=5), 0.01)
    'yes'
    """
    if found.seeds < FEWEST:
        return "few seeds"
    if not converged:
        return "not converged"
    if found.low > margin:
        return "yes"
    return "no" if found.high < margin else "open"


def first_layer(verdicts: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the range (earliest, latest) of the first layer beyond the margin, from 0.

    verdicts: by depth. Two series of ordered tests, each at 2.5 %: from the input on, layers are
    excluded until one is not, the earliest; from the output back, layers are confirmed until one
    is not, the latest being the last confirmed. None: all are excluded, or none is confirmed. The
    chance that the range misses the first layer is at most 5 % whatever the number of layers.

    Source: Maurer, Hothorn & Lehmacher 1995 (tests in a fixed order need no correction).

    >>> first_layer(["no", "open", "yes", "yes"]), first_layer(["no", "yes", "open"])
    ((1, 2), (1, None))
    """
    excluded = _leading(verdicts, "no")
    confirmed = _leading(verdicts[::-1], "yes")
    earliest = excluded if excluded < len(verdicts) else None
    return earliest, len(verdicts) - confirmed if confirmed else None


def seeds_to_decide(found: Estimate, margin: float) -> int | None:
    """Return about how many seeds would tell a difference from the margin; None above 100.

    The value is taken for the truth, and the interval to narrow with the seeds alone.

    >>> seeds_to_decide(Estimate(value=0.02, low=-0.02, high=0.06, seeds=5), 0.05)
    7
    """
    from scipy.special import stdtrit

    def half(seeds: int) -> float:
        return float(stdtrit(seeds - 1, (1 + LEVEL) / 2)) / math.sqrt(seeds)

    if found.high == found.value:
        return None
    share = abs(found.value - margin) / (found.high - found.value)
    needed = (n for n in range(found.seeds + 1, _MOST) if half(n) <= share * half(found.seeds))
    return next(needed, None)


def _leading(verdicts: Sequence[str], kind: str) -> int:
    """Return how many verdicts at the beginning are of a kind."""
    return next((k for k, each in enumerate(verdicts) if each != kind), len(verdicts))
