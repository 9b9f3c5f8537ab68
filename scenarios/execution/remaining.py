"""How long what is left of a study takes, judged by how long its finished parts took.

Every part is a file, which is written when the part is finished: so the time between two files of a
job is what the later one took. A part is expected to take what the same part of the same learner
took in other jobs (their median, so that a night between two of them does no harm), else what parts
of its kind took for as much effort. It is an estimate, and nothing else is done with it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from probe.files import unhashed
from probe.by_layer.fingerprint import Setup
from probe.by_layer.jobs import Job, is_retraining, parts_of
from probe.by_layer.store import Store
from probe.results.run_directory import store_of

# What parts took must be at least this share of what was spent on learning, which is a part of it:
# clocks may be wrong by a little.
_LEAST = 0.5


def effort(job: Job, part: str) -> float:
    """Return roughly how long a part takes, in tasks trained on.

    To evaluate takes a tenth of it, and so do readouts that train nothing by epochs, and networks
    that are given; retraining and offline training take all T tasks; the cumulative learner's i-th
    step takes i.
    """
    if is_retraining(part):
        return len(job.tasks)
    if part == "step-0" or job.given or not part.startswith("step-"):
        return 0.1
    if job.offline:
        return len(job.tasks)
    return int(part.removeprefix("step-")) if job.kind == "cumulative" else 1.0


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How many seconds parts took: each of a learner's, and each kind of part by its effort.

    parts: by learner and part; kinds: by kind, divided by the effort.
    """

    parts: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    kinds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, took: Iterable[tuple[Job, str, float]]) -> Pace:
        """Return the pace of parts that took so many seconds, each with its job."""
        parts, kinds = (
            defaultdict[tuple[str, str], list[float]](list),
            defaultdict[str, list[float]](list),
        )
        for job, part, seconds in took:
            parts[job.learner, part].append(seconds)
            kinds[_kind(part)].append(seconds / effort(job, part))
        return cls(parts=dict(parts), kinds=dict(kinds))

    def seconds(self, job: Job, part: str) -> float | None:
        """Return how long a part will take, None if nothing is known."""
        if same := self.parts.get((job.learner, part)):
            return median(same)
        alike = self.kinds.get(_kind(part)) or [each for own in self.kinds.values() for each in own]
        return median(alike) * effort(job, part) if alike else None


def pace_of(setup: Setup, root: Path, jobs: Iterable[Job]) -> Pace:
    """Return the pace of what is finished in a run directory; changes nothing there."""
    return Pace.of(
        (job, part, seconds)
        for job in jobs
        for part, seconds in _took(store_of(setup, root, job), parts_of(setup.study, job))
    )


def seconds_left(left: Mapping[Job, Sequence[str]], pace: Pace, processes: int = 1) -> float | None:
    """Return in how many seconds all that is left is done, None if that is not known.

    left: the parts of each job that are not finished; processes: that are at work, each on a job of
    its own, so that it takes no less than the longest job does.

    >>> seconds_left({}, Pace())
    0.0
    """
    jobs = []
    for job, parts in left.items():
        each = [pace.seconds(job, part) for part in parts]
        known = [seconds for seconds in each if seconds is not None]
        if len(known) < len(each):
            return None
        jobs.append(sum(known))
    return max(sum(jobs) / max(1, processes), max(jobs, default=0.0))


def shown_duration(seconds: float) -> str:
    """Return a time in the unit that one would say it in.

    >>> [shown_duration(each) for each in (0.4, 61, 700, 9000, 3e5)]
    ['1 s', '61 s', '12 min', '2.5 h', '3.5 days']
    """
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            number = seconds / length
            return f"{max(number, 1):.{1 if unit == 'h' and number < 10 else 0}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def _kind(part: str) -> str:
    """Return which parts take about as long as a part for the same effort."""
    if is_retraining(part):
        return "retraining"
    return "readout" if not part.startswith("step-") else "start" if part == "step-0" else "step"


def _took(store: Store, parts: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield how many seconds each finished part of a job took, but the first of them.

    Nothing of files that were copied: they tell of less time than was spent on learning alone.
    """
    stamps = sorted(_stamps(store, parts))
    took = {part: later - earlier for (earlier, _), (later, part) in pairwise(stamps)}
    if sum(took.values()) < _LEAST * sum(_learning(store, part) for part in took):
        return
    yield from took.items()


def _stamps(store: Store, parts: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Yield when each finished part was written, in seconds, with its name."""
    for part in parts:
        try:
            yield (store.folder / f"{part}.json").stat().st_mtime, part
        # It is not finished, or was set aside just now.
        except OSError:
            continue


def _learning(store: Store, part: str) -> float:
    """Return the seconds spent on learning for a part, 0 for none and where it is not known."""
    if not part.startswith("step-"):
        return 0.0
    try:
        spent = json.loads(unhashed((store.folder / f"{part}.json").read_bytes()))["spent"]
        return float(spent["seconds"]) if spent else 0.0
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0
