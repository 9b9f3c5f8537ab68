"""Verdicts on layers: is a difference beyond the margin, and from which layer on?

A layer's difference, such as `forgotten`, is above the margin where the low end of its
95 % interval is, and below it where the high end is; else the question is open. The
margin is one point of accuracy, whatever the room between floor and ceiling.
"""

from collections.abc import Sequence

from probe.analysis.intervals import Estimate, half_width

QUANTITIES = (
    "accuracy",
    "floor",
    "ceiling",
    "strength",
    "missing",
    "never_learned",
    "forgotten",
    "forgotten_max",
    "own",
    "inherited",
    "forgotten_share",
    "never_learned_slope",
    "above_floor",
    "offline_adds",
    "acquired",
    "retained",
    "missing_drift",
    "never_learned_drift",
    "forgotten_drift",
)
"""The names of the quantities in display order; `probe.analysis.quantities` defines each."""

STATEMENTS = {
    "below_ceiling": "missing",
    "forgets": "forgotten",
    "learns_less": "never_learned",
    "loses_plasticity": "never_learned_slope",
}
"""The quantity that decides each statement, by statement; see `probe.analysis.quantities`."""

WITHHELD = {
    "not converged": "training has not converged",
    "still moving": "its value still moved by more than a point in the second half of the "
    "retraining",
    "near chance": "a run is near chance on its first task",
    "no ceiling": "joint training is less accurate than a method",
    "unchanged": "its values are the same after every task",
    "equal seeds": "networks that should differ are the same",
}
"""The reason for each withheld verdict."""

MARGIN = 0.01
"""The margin of a statement, a fraction of accuracy."""

FEWEST = 3
"""The fewest trainings of which something is said beyond these networks themselves."""

UNFINISHED = "its training has not converged"
"""The beginning of the note on a training that did not converge."""

STUCK = "its training had no effect: the loss stayed at that of its first batch"
"""The note on a training without effect."""

_MOST = 100  # seeds that are asked for


def beyond_margin(estimate: Estimate, margin: float = MARGIN) -> str:
    """Decide whether a difference is beyond the margin.

    Args:
        estimate: The difference with its interval.
        margin: The margin, less for a slope over several positions.

    Returns:
        `yes`, `no`, or `open` in between. `probe.results.statements` has the reasons to
        state nothing.

    >>> beyond_margin(Estimate(value=0.05, low=0.02, high=0.08, seeds=5))
    'yes'
    """
    if estimate.low > margin:
        return "yes"
    return "no" if estimate.high < margin else "open"


def first_layer(verdicts: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the range (earliest, latest) in which the first layer beyond the margin lies, from 0.

    Two series of ordered tests, each at 2.5 %: from the input on, layers are excluded
    until one is not, the earliest; from the output back, layers are confirmed until one
    is not, the latest being the last confirmed. The chance that the range misses the
    first layer is at most 5 % whatever the number of layers.

    Args:
        verdicts: The verdicts by depth, see `beyond_margin`.

    Returns:
        The range; None where all layers are excluded, or none is confirmed.

    Source: Maurer, Hothorn & Lehmacher 1995 (tests in a fixed order need no
        correction).

    >>> first_layer(["no", "open", "yes", "yes"]), first_layer(["no", "yes", "open"])
    ((1, 2), (1, None))
    """
    excluded = _leading(verdicts, "no")
    confirmed = _leading(verdicts[::-1], "yes")
    earliest = excluded if excluded < len(verdicts) else None
    return earliest, len(verdicts) - confirmed if confirmed else None


def seeds_needed(estimate: Estimate, margin: float) -> int | None:
    """Return about how many seeds it takes to tell a difference from the margin.

    It assumes that the estimated value is the true one, and that only more seeds narrow
    the interval.

    Args:
        estimate: The difference, with its interval and number of seeds.
        margin: The margin to tell it from.

    Returns:
        The number of seeds, None if it is above 100.

    >>> seeds_needed(Estimate(value=0.02, low=-0.02, high=0.06, seeds=5), 0.05)
    7
    """
    seeds = estimate.seeds
    room = estimate.high - estimate.value
    if not room:
        return None
    share = abs(estimate.value - margin) / room
    needed = (
        n
        for n in range(seeds + 1, _MOST + 1)
        if half_width(1, n) <= share * half_width(1, seeds)
    )
    return next(needed, None)


def _leading(verdicts: Sequence[str], kind: str) -> int:
    """Count the leading verdicts of a kind."""
    return next(
        (k for k, verdict in enumerate(verdicts) if verdict != kind), len(verdicts)
    )
