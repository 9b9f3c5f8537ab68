"""Statements on layers, each decided by the interval printed with it, and the first layer.

A layer's difference, such as `forgotten`, is above the margin where the low end of its 95 %
interval is, and below it where the high end is; else the question is open. The margin is a share
of the room C - b between floor and ceiling, and at least a stated number of points.
"""

from collections.abc import Sequence

from probe.analysis.intervals import Estimate, half_width

QUANTITIES = (
    "accuracy",
    "floor",
    "ceiling",
    "missing",
    "never_learned",
    "forgotten",
    "forgotten_max",
    "own",
    "inherited",
    "forgotten_share",
    "never_learned_slope",
    "above_floor",
    "acquired",
    "retained",
    "missing_drift",
    "forgotten_drift",
)
"""The names of the quantities in display order; `probe.analysis.layers.quantities` defines each."""

STATEMENTS = {
    "below_ceiling": "missing",
    "forgets": "forgotten",
    "learns_less": "never_learned",
    "loses_plasticity": "never_learned_slope",
}
"""The quantity that decides each statement, by statement; see `probe.analysis.layers`."""

WITHHELD = {
    "few seeds": "fewer than three seeds are finished",
    "not converged": "training has not converged",
    "near chance": "a run is near chance on its first task",
    "no ceiling": "offline training is less accurate than a learner",
    "unchanged": "its values are the same after every task",
    "equal seeds": "networks that should differ are the same",
}
"""The reason for each withheld verdict."""

LEAST = 0.01
"""The smallest margin, a fraction of accuracy."""

SHARE = 0.1
"""The margin as a share of the room between floor and ceiling."""

FEWEST = 3
"""The fewest seeds for a statement: the interval of two seeds is 4.7 times as wide."""

UNFINISHED = "its training has not converged"
"""The beginning of the note on a training that did not converge."""

STUCK = "its training had no effect: the loss stayed at that of its first batch"
"""The note on a training without effect."""

_MOST = 100  # seeds that are asked for


def margin(room: float, positions: int = 1) -> float:
    """Return the margin of a layer, a fraction of accuracy.

    Args:
        room: The room C - b between floor and ceiling, NaN if either is missing.
        positions: The number of positions over which a slope adds up to the difference.

    >>> margin(0.5), margin(0.02), margin(float("nan")), margin(0.5, positions=5)
    (0.05, 0.01, 0.01, 0.01)
    """
    # In this order NaN is never the larger one.
    return max(LEAST, SHARE * room) / positions


def verdict(estimate: Estimate, margin: float, *, converged: bool = True) -> str:
    """Decide whether a difference is beyond the margin.

    Args:
        estimate: The difference with its interval.
        margin: The margin of the layer, from `margin`.
        converged: Whether all trainings that it rests on have converged.

    Returns:
        `yes`, `no`, or `open` in between; `few seeds` and `not converged` where nothing can be
        stated. `probe.results.training_checks` has further reasons.

    >>> verdict(Estimate(value=0.05, low=0.02, high=0.08, seeds=5), 0.01)
    'yes'
    """
    if estimate.seeds < FEWEST:
        return "few seeds"
    if not converged:
        return "not converged"
    if estimate.low > margin:
        return "yes"
    return "no" if estimate.high < margin else "open"


def first_layer(verdicts: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the range (earliest, latest) of the first layer beyond the margin, from 0.

    Two series of ordered tests, each at 2.5 %: from the input on, layers are excluded until one is
    not, the earliest; from the output back, layers are confirmed until one is not, the latest being
    the last confirmed. The chance that the range misses the first layer is at most 5 % whatever the
    number of layers.

    Args:
        verdicts: The verdicts by depth, see `verdict`.

    Returns:
        The range; None where all layers are excluded, or none is confirmed.

    Source: Maurer, Hothorn & Lehmacher 1995 (tests in a fixed order need no correction).

    >>> first_layer(["no", "open", "yes", "yes"]), first_layer(["no", "yes", "open"])
    ((1, 2), (1, None))
    """
    excluded = _leading(verdicts, "no")
    confirmed = _leading(verdicts[::-1], "yes")
    earliest = excluded if excluded < len(verdicts) else None
    return earliest, len(verdicts) - confirmed if confirmed else None


def seeds_needed(estimate: Estimate, margin: float) -> int | None:
    """Return about how many seeds it takes to tell a difference from the margin.

    It assumes that the estimated value is the true one, and that only more seeds narrow the
    interval.

    Args:
        estimate: The difference, with its interval and number of seeds.
        margin: The margin to tell it from.

    Returns:
        The number of seeds, None if it is above 100.

    >>> seeds_needed(Estimate(value=0.02, low=-0.02, high=0.06, seeds=5), 0.05)
    7
    """
    seeds, room = estimate.seeds, estimate.high - estimate.value
    if not room:
        return None
    share = abs(estimate.value - margin) / room
    needed = (
        n for n in range(seeds + 1, _MOST) if half_width(1, n) <= share * half_width(1, seeds)
    )
    return next(needed, None)


def _leading(verdicts: Sequence[str], kind: str) -> int:
    """Count the leading verdicts of a kind."""
    return next((k for k, verdict in enumerate(verdicts) if verdict != kind), len(verdicts))
