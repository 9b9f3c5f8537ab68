"""House style: settings for print, widths of columns, and the writing of files.

Sizes are those of print: texts are 7.5 to 8 points high, and a figure is as wide as one or both
columns of a page, so that it needs no scaling.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont

from figures.options import FORMATS
from probe.errors import InputError
from probe.files import make_folder, replacing

SINGLE = 3.4
"""Width of a figure of one column of a page, in inches."""

DOUBLE = 7.0
"""Width of a figure of two columns of a page, in inches."""

NARROW = 4.5
"""A narrower figure has no room for anything beside its panels, in inches."""

MANY = 8
"""More learners than this need more room: wider figures, fewer panels side by side."""


LABELS = 8.0
"""Size of titles and labels of axes, in points."""


@contextmanager
def house_style(font_size: float | None = None, font: str = "") -> Iterator[None]:
    """Draw and save in the house style, as a context or a decorator.

    Starts from matplotlib's own defaults, so that a user's matplotlibrc changes no figure, and
    puts the settings back at the end. font_size, font: as in `figures.options.Options`. Raises
    InputError for a font that is not installed.
    """
    asked = _SETTINGS | _sizes(font_size) | _font(font)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(asked)
        yield


def save(
    figure: Figure,
    folder: Path,
    name: str,
    formats: Sequence[str] = FORMATS,
    font: str = "",
) -> list[Path]:
    """Write folder/name.png and folder/name.svg, each whole or not at all; return their paths.

    The same figure gives the same bytes. formats: others, or fewer; font: in which the figure was
    drawn. Raises InputError if the folder cannot be written.
    """
    make_folder(folder)
    paths = {kind: folder / f"{name}.{kind}" for kind in formats}
    with house_style(font=font):
        for kind, path in paths.items():
            with replacing(path) as partial:
                figure.savefig(partial, format=kind, metadata=_NO_DATE.get(kind))
    return list(paths.values())


def _sizes(font_size: float | None) -> dict[Any, Any]:
    """Return the settings of all sizes of texts, where another size is asked for."""
    if font_size is None:
        return {}
    texts = {name: size for name, size in _SETTINGS.items() if name.endswith("size")}
    texts = {name: size for name, size in texts.items() if name not in _NO_TEXTS}
    return {name: size * font_size / LABELS for name, size in texts.items()}


def _font(font: str) -> dict[Any, Any]:
    """Return the settings of a font, in which formulas are set as well as can be."""
    if not font:
        return {}
    if font in _FAMILIES:
        return {"font.family": [font], "mathtext.fontset": _FAMILIES[font]}
    try:
        findfont(FontProperties(family=[font]), fallback_to_default=False)
    except ValueError:
        known = ", ".join(_FAMILIES)
        raise InputError(
            f"the font {font!r} is not installed: install it, or take one of {known}"
        ) from None
    return {"font.family": [font], "mathtext.fontset": "stix"}


# matplotlib would write today's date into a file.
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

_FAMILIES = {"sans-serif": "dejavusans", "serif": "dejavuserif", "monospace": "dejavusans"}
"""The fonts that matplotlib brings along, each with the one of its formulas."""

_NO_TEXTS = ("lines.markersize", "errorbar.capsize")

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
    "pdf.fonttype": 42,  # TrueType: publishers refuse what matplotlib embeds by default
    "svg.hashsalt": "forgetting-probe",  # else the names of an SVG's parts are random
}
