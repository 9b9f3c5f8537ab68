"""From a run directory's tables to its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from figures import (
    bias,
    curves,
    depth,
    heads,
    matrix,
    memory,
    sampling,
    scores,
    spider,
    style,
    tasks,
    tradeoff,
)
from probe.table import LearnerRow, MetricRow, Row, SummaryRow, read_table


def build(run_directory: Path) -> list[Path]:
    """Draw the tables of a run directory into its folder `figures`; return the paths written.

    Each of `draw` as .png and .svg and each file whole or not at all; the same tables give the same
    bytes. A figure with nothing to draw (a study of Offline alone) is left out, and an older one of
    that name is removed. Raises InputError, before anything is written, if a table is missing or
    unreadable.
    """
    figures = draw(
        read_table(run_directory / "rows.csv", Row),
        read_table(run_directory / "summary.csv", SummaryRow),
        read_table(run_directory / "metrics.csv", MetricRow),
        read_table(run_directory / "learners.csv", LearnerRow),
    )
    folder = run_directory / "figures"
    written: list[Path] = []
    for name, figure in figures.items():
        if figure is None:
            style.discard(folder, name)
        else:
            written += style.save(figure, folder, name)
    return written


def draw(
    rows: Sequence[Row],
    summary: Sequence[SummaryRow],
    metrics: Sequence[MetricRow],
    learners: Sequence[LearnerRow],
) -> dict[str, Figure | None]:
    """Draw a study's tables; return the figures by name, None where there is nothing to draw.

    Of the rows that differ in the head only those of the study's main head are drawn: the one that
    comes first.
    """
    head = heads.main_head([*rows, *metrics])
    rows, metrics = heads.of_head(rows, head), heads.of_head(metrics, head)
    return {
        "depth": depth.draw(summary),
        "bias": bias.draw(summary),
        "matrix": matrix.draw(rows),
        "curves": curves.draw(rows),
        "tasks": tasks.draw(rows),
        "tradeoff": tradeoff.draw(metrics),
        "memory": memory.draw(metrics, learners),
        "sampling": sampling.draw(metrics, learners),
        "spider": spider.draw(metrics, learners),
        "scores": scores.draw(metrics),
    }
