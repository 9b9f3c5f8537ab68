"""The time left of a study, an estimate only for display.

A measurement is expected to take the median of the seconds of its kind, in proportion
to its effort.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.results.run_directory import store_of
from probe.stored_names import OUTPUT, PutBack


def effort(job: Job, key: Key) -> float:
    """Return the rough effort of a measurement, as a number of tasks to train on.

    Retraining and offline training count as T tasks, and step i of the cumulative
    learner as i. Evaluations, readouts without epochs and networks from files count as
    a tenth of a task.

    Args:
        job: The job.
        key: The measurement.

    Returns:
        The effort.
    """
    if key.readout.is_retraining:
        return len(job.tasks)
    if key.readout != OUTPUT or job.weights or not key.tasks_seen:
        return 0.1
    if job.offline or job.without:
        return len(job.tasks)
    return key.tasks_seen if job.kind == "cumulative" else 1.0


def pace_of(plan: Plan, root: Path, jobs: Iterable[Job]) -> dict[str, float]:
    """Measure the seconds per unit of effort in a run directory, without changing it.

    Args:
        plan: The plan.
        root: The run directory.
        jobs: The jobs to look at.

    Returns:
        The medians over the finished measurements, by kind of measurement.
    """
    seconds_of_kind = defaultdict[str, list[float]](list)
    for job in jobs:
        finished, *_ = store_of(plan, root, job).contents()
        for key, measurement in finished.items():
            seconds_of_kind[_kind(key)].append(measurement.seconds / effort(job, key))
    return {kind: median(seconds) for kind, seconds in seconds_of_kind.items()}


def seconds_left(
    keys_left: Mapping[Job, Sequence[Key]],
    pace: Mapping[str, float],
    processes: int = 1,
) -> float | None:
    """Return the estimated seconds until all jobs are done.

    Args:
        keys_left: The remaining measurements of each job.
        pace: The seconds per unit of effort, by kind of measurement, see `pace_of`.
        processes: The number of processes, each on a different job; the result is never
            less than the time of the longest job.

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
    seconds_by_job = []
    usual_pace = median(pace.values())
    for job, keys in keys_left.items():
        seconds_by_job.append(
            sum(effort(job, key) * pace.get(_kind(key), usual_pace) for key in keys)
        )
    return max(sum(seconds_by_job) / max(1, processes), *seconds_by_job)


def shown_time(seconds: float) -> str:
    """Return a duration in a readable unit.

    >>> [shown_time(seconds) for seconds in (0.4, 61, 700, 9000, 3e5)]
    ['1 s', '61 s', '12 min', '2.5 h', '3.5 days']
    """
    # Each unit with its seconds, and the number of units from which the next one is used.
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            number = seconds / length
            digits = 1 if unit == "h" and number < 10 else 0
            return f"{max(number, 1):.{digits}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def _kind(key: Key) -> str:
    """Return the kind of a measurement; those of the same kind and effort take the same time."""
    if key.readout.put_back == PutBack.SETS:
        return "rewound"
    if key.readout.is_retraining:
        return "retraining"
    return "readout" if key.feature else "output"
