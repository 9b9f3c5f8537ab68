"""From a run directory's tables to its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path

from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, style
from figures.accuracies import Accuracies
from figures.kinds import (
    bias,
    costs,
    curves,
    depth,
    matrix,
    memory,
    omegas,
    sampling,
    scores,
    sessions,
    spider,
    tasks,
    tradeoff,
)
from probe.tables.rows import (
    AnyRow,
    Cells,
    LearnerRow,
    MetricRow,
    Row,
    SummaryRow,
    TimeRow,
    read_table,
)


def build(run_directory: Path) -> list[Path]:
    """Draw the tables of a run directory into its folder `figures`; return the paths written.

    Each of `draw` as .png and .svg and each file whole or not at all; the same tables give the same
    bytes. A figure with nothing to draw is left out, and an older one of that name is removed:
    so are all in a study of Offline alone; `sessions`, `omegas` and `costs` compare learners and
    need two, over two tasks or more, and of them `omegas` needs Offline, `costs` times.csv, which
    older directories lack. Raises InputError, before anything is written, if another table is
    missing or one is unreadable.
    """
    times = run_directory / "times.csv"
    figures = draw(
        _rows(run_directory / "rows.csv"),
        _read(run_directory / "summary.csv", SummaryRow),
        _read(run_directory / "metrics.csv", MetricRow),
        _read(run_directory / "learners.csv", LearnerRow),
        _read(times, TimeRow) if times.exists() else [],
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
    times: Sequence[TimeRow] = (),
) -> dict[str, Figure | None]:
    """Draw a study's tables; return the figures by name, None where there is nothing to draw.

    Of the rows that differ in the head only those of the study's main head are drawn: the one that
    comes first. Where more learners than there are looks have names of their own, as in a sweep,
    those figures are left out in which a legend tells the learners apart.
    """
    head = heads.main_head([*rows, *metrics])
    metrics = heads.of_head(metrics, head)
    accuracies = Accuracies.of(heads.of_head(rows, head))
    alike = not looks.distinct(row.learner for row in learners)
    figures: dict[str, Callable[[], Figure | None]] = {
        "depth": lambda: depth.draw(summary),
        "bias": lambda: bias.draw(summary),
        "matrix": lambda: matrix.draw(accuracies),
        "curves": lambda: curves.draw(accuracies),
        "tasks": lambda: tasks.draw(accuracies),
        "sessions": lambda: sessions.draw(metrics),
        "omegas": lambda: omegas.draw(metrics),
        "costs": lambda: costs.draw(metrics, times),
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


def _rows(path: Path) -> list[Row]:
    """Read the accuracies under the main head, see `draw`: nothing else in it is drawn."""
    head = ""

    def wanted(cells: Cells) -> bool:
        nonlocal head
        head = head or cells["head"]
        return cells["measure"] == "accuracy" and cells["head"] in ("", head)

    return _read(path, Row, wanted)


def _read(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a table such that names in it are drawn as they are: $...$ would be a formula."""
    texts = [field.name for field in fields(kind) if field.type == "str"]
    named = attrgetter(*texts)
    return [
        replace(row, **{name: getattr(row, name).replace("$", r"\$") for name in texts})
        if "$" in "".join(named(row))
        else row
        for row in read_table(path, kind, wanted)
    ]


# A panel, a place or a kind for each learner.
_WITHOUT_LOOKS = {"matrix", "curves", "omegas", "memory", "sampling"}
