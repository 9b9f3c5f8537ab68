"""From a run directory's tables to its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from figures import (
    bias,
    curves,
    depth,
    heads,
    looks,
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
    comes first. Where more learners than there are looks have names of their own, as in a sweep,
    those figures are left out in which a legend tells the learners apart.
    """
    head = heads.main_head([*rows, *metrics])
    rows, metrics = heads.of_head(rows, head), heads.of_head(metrics, head)
    alike = not looks.distinct(row.learner for row in learners)
    figures: dict[str, Callable[[], Figure | None]] = {
        "depth": lambda: depth.draw(summary),
        "bias": lambda: bias.draw(summary),
        "matrix": lambda: matrix.draw(rows),
        "curves": lambda: curves.draw(rows),
        "tasks": lambda: tasks.draw(rows),
        "tradeoff": lambda: tradeoff.draw(metrics),
        "memory": lambda: memory.draw(metrics, learners),
        "sampling": lambda: sampling.draw(metrics, learners),
        "spider": lambda: spider.draw(metrics, learners),
        "scores": lambda: scores.draw(metrics),
    }
    return {
        name: None if alike and name not in _WITHOUT_LOOKS else figure()
        for name, figure in figures.items()
    }


_WITHOUT_LOOKS = {"matrix", "curves", "memory", "sampling"}  # a panel or a kind for each learner
