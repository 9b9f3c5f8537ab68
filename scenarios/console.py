"""What the command line shows: progress with the time left, and the table of results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from probe.placement import CacheSettings, Placed
from probe.sizes import show_size
from probe.table import MetricRow, SummaryRow
from scenarios.study.execute import Done
from scenarios.study.job import Job, parts_of
from scenarios.study.spec import Study
from scenarios.study.store import Store


def show_progress(
    console: Console, study: Study, jobs: Sequence[Job], store: Store, done: Iterable[Done]
) -> None:
    """Draw from `done` until the study is finished, showing how far it is and the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    parts = {job: parts_of(study, job) for job in jobs}
    total = sum(_effort(job, part) for job in jobs for part in parts[job])
    before: float = sum(_effort(j, p) for j in jobs for p in store.finished(j.name) & set(parts[j]))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(study.name, total=total, completed=0)
        progress.update(bar, completed=before)
        for job, part in done:
            progress.update(bar, advance=_effort(job, part), description=f"{job.name} {part}")
        progress.update(bar, completed=total, description=study.name)


def show_plan(console: Console, plan: Sequence[Placed], cache: CacheSettings) -> None:
    """Print where each feature's values live while models are retrained behind it."""
    allowed = show_size(cache.budget or 0)
    console.print(f"features' values, of which at most {allowed} in memory per worker:")
    for placed in plan:
        console.print(f"  {placed}", markup=False, highlight=False)


def show_results(
    console: Console,
    summary: Sequence[SummaryRow],
    metrics: Sequence[MetricRow],
    features: Sequence[str],
) -> None:
    """Print learners x features: PRA, and Chaudhry's forgetting F after the last task, in %."""
    seeds = max((row.seeds for row in summary), default=0)
    of = f"mean±std over {seeds} seeds" if seeds > 1 else "one seed"
    console.print(f"Partial Retrain Accuracy and forgetting F, in %: {of}")
    table = Table(box=SIMPLE, padding=(0, 1))
    for column in ("learner", *features, "F"):
        table.add_column(column, justify="left" if column == "learner" else "right", no_wrap=True)
    pra = {(r.learner, r.feature): (r.mean, r.std) for r in summary if r.measure == "pra"}
    # F_k comes in order of k: what stays is its value after the last task, under the main head.
    forgetting = [row for row in metrics if row.metric.startswith("forgetting[")]
    main = forgetting[0].head if forgetting else ""
    last = {row.learner: (row.mean, row.std) for row in forgetting if row.head == main}
    for learner in dict.fromkeys(row.learner for row in summary):
        values = [*(pra.get((learner, feature)) for feature in features), last.get(learner)]
        # Many features fit into 80 columns with the deviation below the mean.
        cells = [_cell(value, "\n±" if len(features) > 5 else "±") for value in values]
        table.add_row(learner, *cells)
    console.print(table)


def _effort(job: Job, part: str) -> float:
    """Return roughly how long a part takes, in tasks trained on."""
    if part == "step-0":
        return 0.1
    if part.startswith("feature-") or job.offline:
        return len(job.places)
    return int(part.removeprefix("step-")) if job.kind == "cumulative" else 1.0


def _cell(value: tuple[float, float] | None, between: str) -> str:
    if value is None:
        return "-"
    mean, std = value
    return f"{100 * mean:.1f}" if math.isnan(std) else f"{100 * mean:.1f}{between}{100 * std:.1f}"
