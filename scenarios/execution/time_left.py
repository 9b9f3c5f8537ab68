"""The time left of a study, estimated from the seconds that its finished measurements took.

A measurement is expected to take the median of the finished ones of its kind, in proportion to
their effort. The estimate is only for display.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from probe.by_layer.jobs import Job, is_retraining
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.results.run_directory import store_of


def effort(job: Job, key: Key) -> float:
    """Return the rough effort of a measurement, in tasks trained on.

    Retraining and offline training count all T tasks, and step i of the cumulative learner counts
    i. Evaluations, readouts without epochs and networks from files count a tenth of a task.

    Args:
        job: The job.
        key: The measurement.

    Returns:
        The effort.
    """
    if is_retraining(key):
        return len(job.tasks)
    if key.feature or job.provided or not key.tasks_seen:
        return 0.1
    if job.offline or job.without:
        return len(job.tasks)
    return key.tasks_seen if job.kind == "cumulative" else 1.0


def pace_of(plan: Plan, root: Path, jobs: Iterable[Job]) -> dict[str, float]:
    """Measure the seconds per unit of effort in a run directory, which is not changed.

    Args:
        plan: The plan.
        root: The run directory.
        jobs: The jobs to look at.

    Returns:
        The medians over the finished measurements, by kind of measurement.
    """
    took = defaultdict[str, list[float]](list)
    for job in jobs:
        for key, measurement in store_of(plan, root, job).contents().finished.items():
            took[_kind(key)].append(measurement.seconds / effort(job, key))
    return {kind: median(seconds) for kind, seconds in took.items()}


def seconds_left(
    keys_left: Mapping[Job, Sequence[Key]], pace: Mapping[str, float], processes: int = 1
) -> float | None:
    """Return the seconds until the rest of each job is done.

    Args:
        keys_left: The measurements left of each job.
        pace: See `pace_of`.
        processes: Their number, each on a separate job, so that it takes no less than the longest
            job.

    Returns:
        The seconds, None if the pace is unknown.

    Example:
        >>> seconds_left({}, {})
        0.0
    """
    if not any(keys_left.values()):
        return 0.0
    if not pace:
        return None
    seconds, usual = [], median(pace.values())
    for job, keys in keys_left.items():
        seconds.append(sum(effort(job, key) * pace.get(_kind(key), usual) for key in keys))
    return max(sum(seconds) / max(1, processes), *seconds)


def shown_duration(seconds: float) -> str:
    """Return a duration in a readable unit.

    >>> [shown_duration(seconds) for seconds in (0.4, 61, 700, 9000, 3e5)]
    ['1 s', '61 s', '12 min', '2.5 h', '3.5 days']
    """
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            number = seconds / length
            return f"{max(number, 1):.{1 if unit == 'h' and number < 10 else 0}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def _kind(key: Key) -> str:
    """Return the kind of a measurement; for the same effort a kind takes the same time."""
    return "retraining" if is_retraining(key) else "readout" if key.feature else "output"
