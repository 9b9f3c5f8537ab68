"""What the command line shows: progress with the time left, and the table of results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

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


def results_table(
    summary: Sequence[SummaryRow], metrics: Sequence[MetricRow], features: Sequence[str]
) -> Table:
    """Return learners x features: PRA, and the accuracy and forgetting at the end, in percent."""
    table = Table(title="Partial Retrain Accuracy by feature, and the output's metrics, in %")
    table.add_column("learner")
    for depth, feature in enumerate(features, 1):
        table.add_column(f"{depth} {feature}", justify="right")
    ends = [("gem", "acc", "ACC"), ("chaudhry", "forgetting", "forgetting"), ("gem", "bwt", "BWT")]
    for _, _, title in ends:
        table.add_column(title, justify="right")
    pra = {(r.learner, r.feature): (r.mean, r.std) for r in summary if r.measure == "pra"}
    # Metrics with a value after every task, name[k], are listed in order of k: the last one stays.
    last = {(r.learner, r.paper, r.metric.partition("[")[0]): (r.mean, r.std) for r in metrics}
    for learner in dict.fromkeys(row.learner for row in summary):
        cells = [_cell(pra.get((learner, feature))) for feature in features]
        cells += [_cell(last.get((learner, paper, metric))) for paper, metric, _ in ends]
        table.add_row(learner, *cells)
    return table


def _effort(job: Job, part: str) -> float:
    """Return roughly how long a part takes, in tasks trained on."""
    if part == "step-0":
        return 0.1
    if part.startswith("feature-") or job.offline:
        return len(job.places)
    return int(part.removeprefix("step-")) if job.kind == "cumulative" else 1.0


def _cell(value: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    mean, std = value
    return f"{100 * mean:.1f}" if math.isnan(std) else f"{100 * mean:.1f} ± {100 * std:.1f}"
