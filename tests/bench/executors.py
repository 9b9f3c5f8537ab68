"""The gain and cost of executors: the same study in this process, in several, and by Ray.

Every run is a `probe run` of its own, from the start of the interpreter to the last figure. What a
job takes is the difference of a run of many jobs and one of few; the ways take turns.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from tests.bench.processes import scratch
from tests.bench.section import Row, Section
from tests.bench.timing import interleaved

INLINE, POOL, RAY = ("--executor inline", "--executor pool", "--executor ray")
WAYS = {
    # Jobs of some three seconds on one core, to see what two processes gain.
    "long jobs, inline": f"{INLINE} --epochs 16",
    "long jobs, pool of 2": f"{POOL} --workers 2 --epochs 16",
    # And of about one, to see what it costs to send each to a process.
    "short jobs, inline": f"{INLINE} --epochs 5",
    "short jobs, pool of 1": f"{POOL} --workers 1 --epochs 5",
    "short jobs, ray, 1 worker": f"{RAY} --workers 1 --epochs 5",
}
FEW, MANY = 4, 16


def section(repeats: int) -> Section:
    """Compare two processes with one, and a job in another process with one in this."""
    return Section(
        title=f"Studies of {MANY} jobs on the clock, median of {repeats}",
        columns=("", "s a job", "command, s", "job x", "command x"),
        rows=_rows(repeats),
    )


def _rows(repeats: int) -> Iterator[Row]:
    has_ray = importlib.util.find_spec("ray") is not None
    for size in ("long", "short"):
        ways = {n: f for n, f in WAYS.items() if n.startswith(size) and (has_ray or RAY not in f)}
        runs = {f"{n} {jobs}": partial(_run, ways[n], jobs) for n in ways for jobs in (FEW, MANY)}
        taken = interleaved(runs, repeats, perf_counter)
        few, many = ({n: taken[f"{n} {jobs}"] for n in ways} for jobs in (FEW, MANY))
        job = {name: (many[name] - few[name]) / (MANY - FEW) for name in ways}
        base = f"{size} jobs, inline"
        for name in ways:
            gains = (f"{job[base] / job[name]:.2f}", f"{many[base] / many[name]:.2f}")
            cells = (f"{job[name]:.2f}", f"{many[name]:.1f}", *gains)
            yield (name, *cells), {"job": job[name], "command": many[name]}


def _run(flags: str, jobs: int) -> None:
    grid = f"--learners finetune --seeds 1 --orders shuffle:{jobs} {flags}"
    with scratch() as folder:
        call = [sys.executable, "-m", "scenarios", "run", "digits", *grid.split()]
        whole = [*call, "--out", str(Path(folder, "run"))]
        subprocess.run(whole, stdout=subprocess.DEVNULL, check=True)
