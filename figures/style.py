"""The house style: settings for print, widths of columns, and how a figure reaches the disk.

Sizes are those of print: texts are 7.5 to 8 points high, and a figure is as wide as one or both
columns of a page, so that it needs no scaling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from figures import FORMATS
from probe.files import make_folder, replacing

SINGLE = 3.4
"""Width of a figure of one column of a page, in inches."""

DOUBLE = 7.0
"""Width of a figure of two columns of a page, in inches."""

MANY = 8
"""More learners than this need more room: wider figures, fewer panels side by side."""


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in the house style, within a `with` or in a function that it decorates.

    Starts from matplotlib's own defaults, so that a user's matplotlibrc changes no figure, and
    puts the settings back at the end.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


@house_style()
def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write folder/name.png and folder/name.svg, each whole or not at all; return their paths.

    The same figure gives the same bytes. Raises InputError if the folder cannot be written.
    """
    make_folder(folder)
    paths = {kind: folder / f"{name}.{kind}" for kind in FORMATS}
    for kind, path in paths.items():
        # matplotlib would write today's date into an SVG.
        metadata = {"Date": None} if kind == "svg" else None
        with replacing(path) as partial:
            figure.savefig(partial, format=kind, metadata=metadata)
    return list(paths.values())


_SETTINGS: dict[Any, Any] = {
    "font.size": 7.5,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.titley": 1.0,  # else every layout looks for its position anew
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
    "axes.formatter.useoffset": False,  # an offset beside an axis is easily overlooked
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
    "svg.hashsalt": "forgetting-probe",  # else the names of an SVG's parts are random
}
