"""The time left of a study, estimated from the files of its finished measurements.

The time between two files of a job is the duration of the later measurement. A measurement is
expected to take the median of the finished ones of its kind, in proportion to their effort. The
estimate is only for display.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median

from probe.by_layer.jobs import Job, is_retraining, parts_of
from probe.by_layer.plan import Plan
from probe.by_layer.store import Store
from probe.results.run_directory import store_of


def effort(job: Job, part: str) -> float:
    """Return the rough effort of a measurement, in tasks trained on.

    Retraining and offline training take all T tasks, the i-th step of the cumulative learner takes
    i; evaluations, readouts without epochs and networks from files take a tenth of a task.
    """
    if is_retraining(part):
        return len(job.tasks)
    if part == "step-0" or job.given or not part.startswith("step-"):
        return 0.1
    if job.offline or job.without:
        return len(job.tasks)
    return int(part.removeprefix("step-")) if job.kind == "cumulative" else 1.0


def pace_of(plan: Plan, root: Path, jobs: Iterable[Job]) -> dict[str, float]:
    """Return the seconds of a unit of effort, by the kind of measurement, in a run directory.

    They are the medians of the finished measurements; nothing is changed there.
    """
    took = defaultdict[str, list[float]](list)
    for job in jobs:
        for part, seconds in _took(store_of(plan, root, job), parts_of(plan, job)):
            took[_kind(part)].append(seconds / effort(job, part))
    return {kind: median(seconds) for kind, seconds in took.items()}


def seconds_left(
    parts_left: Mapping[Job, Sequence[str]], pace: Mapping[str, float], processes: int = 1
) -> float | None:
    """Return the seconds until the rest of each job is done.

    Args:
        parts_left: The measurements left of each job.
        pace: See `pace_of`.
        processes: Their number, each on a separate job, so that it takes no less than the longest
            job.

    Returns:
        The seconds, None if the pace is unknown.

    Example:
        >>> seconds_left({}, {})
        0.0
    """
    if not any(parts_left.values()):
        return 0.0
    if not pace:
        return None
    usual = median(pace.values())
    jobs = [
        sum(effort(job, part) * pace.get(_kind(part), usual) for part in parts)
        for job, parts in parts_left.items()
    ]
    return max(sum(jobs) / max(1, processes), *jobs)


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


def _kind(part: str) -> str:
    """Return the kind of a measurement; for the same effort a kind takes the same time."""
    return "retraining" if is_retraining(part) else part.partition("-")[0]


def _took(store: Store, parts: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the seconds of each finished measurement of a job but the first, from file times.

    Yields nothing for files copied without their times, which span less than the training in them.
    """
    written, trained = [], 0.0
    for part in parts:
        path = store.folder / f"{part}.json"
        # Missing, just set aside by another process, or corrupt: its time is unknown.
        with suppress(OSError, ValueError, KeyError, TypeError):
            spent = json.loads(path.read_bytes())["spent"]
            trained += spent["seconds"] if spent else 0.0
            written.append((path.stat().st_mtime, part))
    written.sort()
    # Half: clocks may differ a little, and the first measurement has no duration.
    if written and written[-1][0] - written[0][0] >= trained / 2:
        yield from ((part, later - earlier) for (earlier, _), (later, part) in pairwise(written))
