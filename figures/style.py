"""The house style: one look per learner, settings for print, and how a figure reaches the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.figure import Figure

from probe.files import make_folder, replacing
from probe.table import Row, SummaryRow

SINGLE = 3.4
"""Width of a single-column figure, in inches."""

DOUBLE = 7.0
"""Width of a double-column figure, in inches."""

OFFLINE = "offline"
"""The learner that sees all tasks at once: a level to compare with, not a continual learner."""

FORMATS = ("png", "svg")
"""The formats that `save` writes."""

Line = Literal["-", "--", "-.", ":"]
"""A line style, as matplotlib writes it."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a learner is drawn in every figure: its name in print, colour, marker and line style."""

    label: str
    colour: str
    marker: str
    line: Line


def looks(learners: Iterable[str]) -> dict[str, Look]:
    """Return each learner's look: fixed for those known by name, the spare ones in order of name.

    The colours are Okabe and Ito's without the yellow, which is too faint on paper; where one
    serves twice, line style and marker differ.

    >>> looks(["er", "mine"])["er"]
    Look(label='ER', colour='#0072B2', marker='s', line='-')
    """
    names = set(learners)
    spare = zip(sorted(names - set(_KNOWN)), cycle(_SPARE), strict=False)
    others = {
        name: Look(label=name, colour=colour, marker=marker, line=line)
        for name, (colour, marker, line) in spare
    }
    return {name: look for name, look in (_KNOWN | others).items() if name in names}


def continual(rows: Iterable[Row] | Iterable[SummaryRow]) -> list[str]:
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


_SKY, _BLUE, _GREEN = "#56B4E9", "#0072B2", "#009E73"
_ORANGE, _RED, _PINK, _GREY = "#E69F00", "#D55E00", "#CC79A7", "#505050"

_KNOWN = {
    "offline": Look(label="Offline", colour="#000000", marker="", line="--"),
    "cumulative": Look(label="Cumulative", colour=_GREY, marker="h", line="-"),
    "finetune": Look(label="Finetune", colour=_RED, marker="o", line="-"),
    "er": Look(label="ER", colour=_BLUE, marker="s", line="-"),
    "ewc": Look(label="EWC", colour=_GREEN, marker="^", line="-"),
    "si": Look(label="SI", colour=_ORANGE, marker="D", line="-"),
    "lwf": Look(label="LwF", colour=_PINK, marker="v", line="-"),
    "gem": Look(label="GEM", colour=_SKY, marker="P", line="-"),
    "rwalk": Look(label="RWalk", colour=_GREEN, marker="X", line="-."),
    "icarl": Look(label="iCaRL", colour=_BLUE, marker=">", line="-."),
}

_AGAIN: tuple[tuple[Line, str], ...] = ((":", "<pd*H8."), ("--", "pd*H8.<"))

_SPARE = [
    (colour, marker, line)
    for line, markers in _AGAIN
    for colour, marker in zip(
        (_ORANGE, _PINK, _SKY, _RED, _BLUE, _GREEN, _GREY), markers, strict=True
    )
]

_SETTINGS: dict[Any, Any] = {
    "font.size": 7.5,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
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
    "legend.handlelength": 2.2,
    "legend.columnspacing": 1.2,
    "figure.dpi": 300,
    "svg.hashsalt": "forgetting-probe",
}
