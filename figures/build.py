"""From a run directory's tables to its figures."""

from __future__ import annotations

from pathlib import Path

from figures import bias, curves, depth, matrix, style
from probe.table import Row, SummaryRow, read_table


def build(run_directory: Path) -> list[Path]:
    """Draw rows.csv and summary.csv into run_directory/figures; return the paths written.

    `depth`, `bias`, `matrix` and `curves`, each as .png and .svg and each file whole or not at
    all; the same tables give the same bytes. A figure with nothing to draw (a study of Offline
    alone) is left out, and an older one of that name is removed. Raises InputError, before
    anything is written, if a table is missing or unreadable.
    """
    rows = read_table(run_directory / "rows.csv", Row)
    summary = read_table(run_directory / "summary.csv", SummaryRow)
    drawn = {
        "depth": depth.draw(summary),
        "bias": bias.draw(summary),
        "matrix": matrix.draw(rows),
        "curves": curves.draw(rows),
    }
    folder = run_directory / "figures"
    written: list[Path] = []
    for name, figure in drawn.items():
        if figure is None:
            style.discard(folder, name)
        else:
            written += style.save(figure, folder, name)
    return written
