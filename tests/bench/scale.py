"""Tables of large studies: how soon they are there again from the stored parts.

Times are those of the clock in a process of its own, once everything is imported; the files lie in
the system's cache, as they have just been written.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from probe.results.run_directory import read_plan
from probe.results.scores import metric_rows
from probe.results.tables import measured_rows, read_results, summary_rows
from probe.tables.rows import MetricRow, Row, SummaryRow
from probe.tables.table_file import write_table
from tests.bench.made_up import Shape, write_study
from tests.bench.processes import in_a_process, peak_memory, scratch
from tests.bench.section import Row as Line, Section

LEARNERS = ("finetune", "er", "ewc", "si", "lwf", "gem", "icarl", "cumulative")
STEPS = ("reading", "summary.csv", "metrics.csv", "rows.csv")
SHAPES = {
    f"20 tasks of 5 classes, {seeds} seeds": Shape(
        learners=(*LEARNERS, "offline"), tasks=20, per_task=5, seeds=seeds
    )
    for seeds in (1, 5)
}


def section() -> Section:
    """Measure how long each table takes, and how much memory all of them."""
    return Section(
        title="Tables from stored parts, one thread: s on the clock (of the processor)",
        columns=("", "parts", "rows", *STEPS, "in all, no rows.csv", "RSS"),
        rows=_rows(),
    )


def _rows() -> Iterator[Line]:
    for name, shape in SHAPES.items():
        with scratch() as root:
            parts = write_study(root, shape)
            found = in_a_process(written_tables, root)
        rebuilt = [sum(times) for times in zip(*found["steps"][:-1], strict=True)]
        seconds = (f"{clock:.2f} ({used:.2f})" for clock, used in (*found["steps"], rebuilt))
        numbers = (f"{parts:,}", f"{found['rows']:,}")
        yield (name, *numbers, *seconds, f"{found['peak'] / 10**6:.0f} MB"), found


def written_tables(folder: str) -> dict[str, object]:
    """Read the parts of a study and write its tables; time each on the clock and the processor."""
    root, plan = Path(folder), read_plan(Path(folder))
    steps = list[tuple[float, float]]()

    def step(action: Callable[[], Any]) -> Any:
        start = time.perf_counter(), time.process_time()
        done = action()
        steps.append((time.perf_counter() - start[0], time.process_time() - start[1]))
        return done

    results = step(lambda: list(read_results(plan, root)))
    summary, metrics, table = (root / f"{name}.csv" for name in ("summary", "metrics", "rows"))
    step(lambda: write_table(summary, SummaryRow, summary_rows(results)))
    step(lambda: write_table(metrics, MetricRow, metric_rows(results, plan.report)))
    step(lambda: write_table(table, Row, measured_rows(plan, results)))
    with table.open("rb") as file:
        count = sum(1 for _ in file) - 1
    return {"steps": steps, "rows": count, "peak": peak_memory()}
