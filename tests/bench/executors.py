"""What executors gain and cost: the same study in this process, in several, and by Ray.

Every run is a `probe run` of its own, from the start of the interpreter to the last figure. When a
job began and ended is read from the files of its parts; the ways take turns, and medians count.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

INLINE = ("--executor", "inline")
TWO = ("--executor", "pool", "--workers", "2")
ONE = ("--executor", "pool", "--workers", "1")
RAY = ("--executor", "ray", "--workers", "1")

# Jobs of some three seconds on one core, and of about one.
LONG = ("--learners", "finetune", "--epochs", "16")
SHORT = ("--learners", "finetune", "--epochs", "5")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of a run of n jobs.

    whole: of the command; span: from the first part that was finished, which says how good the
    first job's network is untrained, to the last; each: between two ends of jobs, on average.
    """

    whole: float
    span: float
    each: float


def measure(repeats: int, jobs: int = 16) -> tuple[Table, dict[str, object]]:
    """Return the speed-up of two processes over one, and the overhead of a job in another."""
    speed = _medians({"inline": INLINE, "pool of 2": TWO}, (*LONG, *_grid(jobs)), repeats)
    others = {"inline": INLINE, "pool of 1": ONE}
    if importlib.util.find_spec("ray"):
        others["ray, 1 worker"] = RAY
    cost = _medians(others, (*SHORT, *_grid(jobs)), repeats)
    table = Table("", "s a job", "jobs alone, s", "command, s", "jobs x", "command x", "overhead")
    table.title = f"Studies of {jobs} jobs on the clock, median of {repeats}"
    raw: dict[str, object] = {}
    for title, timings in (("long", speed), ("short", cost)):
        base = timings["inline"]
        for name, run in timings.items():
            raw[f"{title} jobs, {name}"] = vars(run)
            gains = (f"{base.span / run.span:.2f}", f"{base.whole / run.whole:.2f}")
            overhead = f"{run.each / base.each - 1:+.1%}" if title == "short" else ""
            seconds = (f"{run.each:.2f}", f"{run.span:.1f}", f"{run.whole:.1f}")
            table.add_row(f"{title} jobs, {name}", *seconds, *gains, overhead)
    return table, raw


def _grid(jobs: int) -> tuple[str, ...]:
    return ("--orders", f"shuffle:{jobs}", "--seeds", "1")


def _medians(
    ways: Mapping[str, tuple[str, ...]], study: tuple[str, ...], repeats: int
) -> dict[str, Timing]:
    runs: dict[str, list[Timing]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            runs[name].append(_run((*study, *way)))
    return {
        name: Timing(
            whole=statistics.median(run.whole for run in own),
            span=statistics.median(run.span for run in own),
            each=statistics.median(run.each for run in own),
        )
        for name, own in runs.items()
    }


def _run(flags: tuple[str, ...]) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        start = time.perf_counter()
        call = [sys.executable, "-m", "scenarios", "run", "digits", *flags, "--out", out]
        subprocess.run(call, stdout=subprocess.DEVNULL, check=True)
        whole = time.perf_counter() - start
        jobs = [_written(job) for job in (out / "jobs").iterdir()]
    first, ends = min(map(min, jobs)), sorted(map(max, jobs))
    each = (ends[-1] - ends[0]) / (len(ends) - 1)
    return Timing(whole=whole, span=ends[-1] - first, each=each)


def _written(job: Path) -> list[float]:
    """Return when the parts of a job were written."""
    return [path.stat().st_mtime for path in job.glob("*.json")]
