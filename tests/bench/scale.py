"""Large studies: how soon a finished one knows that it is, how soon its tables are there again.

Times are those of the clock in a process of its own, once everything is imported; the files lie in
the system's cache, as they have just been written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from probe.placement import CacheSettings
from probe.table import MetricRow, Row, SummaryRow, write_table
from scenarios.datasets import Location
from scenarios.execution.work import Work
from scenarios.study.identity import read_identity
from scenarios.study.job import jobs_of
from scenarios.study.scores import metric_rows
from scenarios.study.tables import measured_rows, read_results, summary_rows
from tests.bench.made_up import Shape, write_study

MB = 10**6
LEARNERS = ("finetune", "er", "ewc", "si", "lwf", "gem", "icarl", "cumulative")
MANY_PARTS = Shape(learners=(*LEARNERS, "rwalk"), tasks=10, per_task=1, seeds=8)
MANY_ROWS = {
    "20 tasks of 5 classes": Shape(learners=(*LEARNERS, "offline"), tasks=20, per_task=5, seeds=5),
    "10 permutations": Shape(
        learners=(*LEARNERS, "rwalk"), tasks=10, per_task=10, seeds=30, alike=True
    ),
}
SMALL = ("--learners", "er,offline", "--orders", "shuffle:2", "--epochs", "1", "--train-limit", "8")
_CHILD = """
import json, sys
from pathlib import Path
from tests.bench import scale
print(json.dumps(scale.{}(Path(sys.argv[1]))))
"""
_ONLY_TORCH = """
import json, torch
with open("/proc/self/status") as status:
    print(json.dumps({"peak": 1024 * int(status.read().partition("VmHWM:")[2].split()[0])}))
"""


def restart(shape: Shape = MANY_PARTS) -> tuple[Table, dict[str, object]]:
    """Return the time and the memory it takes to find that nothing is left to do."""
    with _folder() as root:
        parts = write_study(root / "many", shape)
        found = {
            "parts": parts,
            **_in_a_process(_CHILD.format("_find_nothing_left"), root / "many"),
        }
        found["torch"] = _in_a_process(_ONLY_TORCH)["peak"]
        run = [sys.executable, "-m", "scenarios", "run", "digits", *SMALL, "--out", root / "small"]
        _timed(run)
        found["small_run_seconds"] = _timed(run)
    table = Table("", "", title="A finished study, started again")
    table.add_row(f"to see that {parts:,} parts are there", f"{found['seconds']:.2f} s")
    table.add_row("peak memory (RSS)", f"{found['peak'] / MB:.0f} MB")
    table.add_row("of which everything imported", f"{found['imported'] / MB:.0f} MB")
    table.add_row("of which torch alone", f"{found['torch'] / MB:.0f} MB")
    table.add_row("`probe run` of a small one, whole", f"{found['small_run_seconds']:.1f} s")
    return table, found


def rows() -> tuple[Table, dict[str, object]]:
    """Return how long each table of a large study takes from its stored parts."""
    table = Table("", "parts", "rows", "reading", "summary", "metrics", "in all", "rows.csv", "RSS")
    table.title = "Tables from stored parts, one thread: s on the clock (of the processor)"
    raw: dict[str, object] = {}
    for name, shape in MANY_ROWS.items():
        with _folder() as root:
            parts = write_study(root, shape)
            found = _in_a_process(_CHILD.format("_write_large_tables"), root)
        *rebuilt, rest = found["steps"]
        steps = [*rebuilt, [sum(times) for times in zip(*rebuilt, strict=True)], rest]
        seconds = (f"{clock:.2f} ({processor:.2f})" for clock, processor in steps)
        table.add_row(
            name, f"{parts:,}", f"{found['rows']:,}", *seconds, f"{found['peak'] / MB:.0f} MB"
        )
        raw[name] = {"parts": parts, **found}
    return table, raw


def _find_nothing_left(root: Path) -> dict[str, object]:
    identity, imported = read_identity(root), _peak()
    cache = CacheSettings(budget=0, storage="fp32", scratch=root)
    work = Work(identity=identity, location=Location(), device="cpu", root=root, cache=cache)
    start = time.perf_counter()
    identity.claim(root)
    left = [
        job for job in jobs_of(identity.study, len(identity.tasks)) if not work.is_finished(job)
    ]
    seconds = time.perf_counter() - start
    if left:
        raise RuntimeError(f"{len(left)} jobs of a finished study are taken for unfinished")
    return {"seconds": seconds, "peak": _peak(), "imported": imported}


def _write_large_tables(root: Path) -> dict[str, object]:
    """Time reading the parts, summary.csv, metrics.csv and rows.csv; two numbers for each."""
    identity = read_identity(root)
    study, steps = identity.study, list[tuple[float, float]]()

    def step(action: Callable[[], Any]) -> Any:
        start = time.perf_counter(), time.process_time()
        done = action()
        steps.append((time.perf_counter() - start[0], time.process_time() - start[1]))
        return done

    results = step(lambda: list(read_results(identity, root)))
    summary, metrics, table = (root / f"{name}.csv" for name in ("summary", "metrics", "rows"))
    step(lambda: write_table(summary, SummaryRow, summary_rows(results)))
    step(lambda: write_table(metrics, MetricRow, metric_rows(results, study.report)))
    step(lambda: write_table(table, Row, measured_rows(study, results)))
    with table.open("rb") as file:
        count = sum(1 for _ in file) - 1
    return {"steps": steps, "rows": count, "peak": _peak()}


def _in_a_process(code: str, *arguments: Path) -> dict[str, Any]:
    call = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _timed(call: list[Any]) -> float:
    start = time.perf_counter()
    subprocess.run(call, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


@contextmanager
def _folder() -> Iterator[Path]:
    runs = Path("runs")  # not the system's, which may lie in memory
    runs.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=runs) as folder:
        yield Path(folder)


def _peak() -> int:
    """Return the most memory that this process has had so far, in bytes."""
    # Not getrusage's: to the kernel that includes the parent's, from which the process was forked.
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
