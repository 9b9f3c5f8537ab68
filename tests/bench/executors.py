"""The gain of two worker processes over one process, in a study of jobs of some three seconds.

Every run is a `probe run` of its own, from the start of the interpreter to the last
figure. The duration of a job is the difference of a run of many jobs and one of few;
the ways take turns.
"""

import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

from tests.bench.timing import interleaved, scratch

WAYS = {"inline": "--executor inline", "pool of 2": "--executor pool --workers 2"}
FEW, MANY = 4, 16


def executors(repeats):
    """Studies of 16 jobs on the clock, in one process and in two."""
    sizes = product(WAYS, (FEW, MANY))
    runs = {(way, jobs): partial(_run, WAYS[way], jobs) for way, jobs in sizes}
    taken = interleaved(runs, repeats, perf_counter)
    whole = {way: taken[way, MANY] for way in WAYS}
    job = {way: (whole[way] - taken[way, FEW]) / (MANY - FEW) for way in WAYS}
    yield "", "s a job", "command, s", "job x", "command x"
    for way in WAYS:
        gains = (f"{each['inline'] / each[way]:.2f}" for each in (job, whole))
        yield (way, f"{job[way]:.2f}", f"{whole[way]:.1f}", *gains)


def _run(flags, jobs):
    grid = f"--learners finetune --seeds 1 --orders shuffle:{jobs} --epochs 16 {flags}"
    with scratch() as folder:
        call = [sys.executable, "-m", "scenarios", "run", "digits", *grid.split()]
        whole = [*call, "--out", str(Path(folder, "run"))]
        subprocess.run(whole, stdout=subprocess.DEVNULL, check=True)
