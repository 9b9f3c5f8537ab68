"""The house style: settings for print, and how a figure reaches the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from probe.files import make_folder, replacing
from probe.tables.rows import MetricRow, Row, SummaryRow

SINGLE = 3.4
"""Width of a single-column figure, in inches."""

DOUBLE = 7.0
"""Width of a double-column figure, in inches."""

MANY = 8
"""With more learners than this a figure of one panel or a few gives them more room."""

OFFLINE = "offline"
"""The learner that sees all tasks at once: a level to compare with, not a continual learner."""

FORMATS = ("png", "svg")
"""The formats that `save` writes."""


def continual(rows: Iterable[Row | SummaryRow | MetricRow]) -> list[str]:
    """Return the learners of a table without Offline, in order of first appearance."""
    return [name for name in dict.fromkeys(row.learner for row in rows) if name != OFFLINE]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in the house style within a `with`; matplotlib's settings are then put back.

    Starts from matplotlib's own defaults, so that a user's matplotlibrc changes no figure.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write folder/name.png and folder/name.svg, each whole or not at all; return their paths.

    The same figure gives the same bytes. Raises InputError if the folder cannot be written.
    """
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    make_folder(folder)
    for path in paths:
        _write(figure, path)
    return paths


def discard(folder: Path, name: str) -> None:
    """Remove an earlier figure of that name, which the tables no longer give."""
    for kind in FORMATS:
        (folder / f"{name}.{kind}").unlink(missing_ok=True)


def _write(figure: Figure, path: Path) -> None:
    kind = path.suffix[1:]
    with replacing(path) as partial, house_style():
        figure.savefig(partial, format=kind, metadata={"Date": None} if kind == "svg" else None)


_SETTINGS: dict[Any, Any] = {
    "font.size": 7.5,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.titley": 1.0,  # else its place is sought anew with every layout
    "figure.labelsize": 8,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.6,
    "errorbar.capsize": 1.8,
    "figure.constrained_layout.h_pad": 0.05,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.7,
    "legend.columnspacing": 1.2,
    "figure.dpi": 300,
    "svg.hashsalt": "forgetting-probe",
}
