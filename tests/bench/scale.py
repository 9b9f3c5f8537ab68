"""Large studies: how soon a finished one knows that it is, how soon its tables are there again.

Times are those of the clock in a process of its own, of a whole one or once everything is imported,
as it says; the files lie in the system's cache, as they have just been written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from scenarios.study.identity import identify, read_identity

from probe.tables.rows import MetricRow, Row, SummaryRow, write_table
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.execution.work import Work
from scenarios.study.job import jobs_of
from scenarios.study.scores import metric_rows
from scenarios.study.source import check_study, read_study
from scenarios.study.tables import measured_rows, read_results, summary_rows
from tests.bench.made_up import Shape, write_parts, write_study

MB = 10**6
LEARNERS = ("finetune", "er", "ewc", "si", "lwf", "gem", "icarl", "cumulative")
MANY_ROWS = {
    "20 tasks of 5 classes": Shape(learners=(*LEARNERS, "offline"), tasks=20, per_task=5, seeds=5),
    "10 permutations": Shape(
        learners=(*LEARNERS, "rwalk"), tasks=10, per_task=10, seeds=30, alike=True
    ),
}
# Ten tasks, nine learners and ten orders: 10,080 parts.
MANY_PARTS = "\n".join(
    [
        "seeds = 8",
        '[scenario]\ndata = "digits"\nclasses_per_task = 1',
        '[network]\nname = "cnn3"',
        '[report]\nheads = ["single", "multi", "all"]',
        *(f"[learners.{name}]" for name in (*LEARNERS, "rwalk")),
    ]
)
_CHILD = """
import json, sys
from pathlib import Path
from tests.bench import scale
print(json.dumps(scale.{}(Path(sys.argv[1]))))
"""
# Small itself: what a process is forked from counts as its own memory.
_WATCHED = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": time.perf_counter() - start, "peak": 1024 * used.ru_maxrss}))
"""


def restart(text: str = MANY_PARTS) -> tuple[Table, dict[str, object]]:
    """Return the time and the memory of `probe run` where nothing is left to do."""
    with _folder() as folder:
        source, root = folder / "many.toml", folder / "many"
        source.write_text(text, encoding="utf-8")
        study = check_study(read_study(str(source)), source.name)
        location = Location()
        scenario = study.scenario.scenario(location)
        parts = write_parts(root, identify(study, scenario, torch.device("cpu")))
        found = {"look": _in_a_process(_CHILD.format("_find_nothing_left"), root)}
        run = [sys.executable, "-m", "scenarios", "run", str(source), "--out", str(root)]
        found["results"] = _in_a_process(_WATCHED, *run)
        again = [_in_a_process(_WATCHED, *run) for _ in range(3)]
        found["again"] = sorted(again, key=itemgetter("seconds"))[1]
        found["other"] = _in_a_process(_WATCHED, *run, "--workers", "1")
    table = Table("", "s", "peak RSS", title=f"A study of {parts:,} finished parts, started again")
    for name, what in _STARTS.items():
        seconds, peak = found[name]["seconds"], found[name]["peak"]
        table.add_row(what, f"{seconds:.2f}", f"{peak / MB:.0f} MB")
    return table, {"parts": parts, **found}


_STARTS = {
    "again": "`probe run`, whole, by the command that has finished it",
    "other": "`probe run`, whole, with other flags: torch and data are loaded",
    "look": "of that, to find that no part is missing (imports not counted)",
    "results": "`probe run`, whole, where tables and figures are to be made",
}


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
    identity = read_identity(root)
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
    return {"seconds": seconds, "peak": _peak()}


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


def _in_a_process(code: str, *arguments: str | Path) -> dict[str, Any]:
    call = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


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
