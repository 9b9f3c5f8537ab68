"""House style: settings for print, widths of columns, and writing of files.

Sizes are for print: texts are 7.5 to 8 points high, and a figure is as wide as one or
two columns of a page, so that it needs no scaling.
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
def house_style(scale: float = 1, font: str = "") -> Iterator[None]:
    """Draw and save in the house style, as a context or a decorator.

    It starts from matplotlib's own defaults, so that a user's matplotlibrc changes no
    figure, and restores the settings at the end.

    Args:
        scale: The size of texts, relative to titles and axis labels of 8 points.
        font: The font, see `figures.options.Options`.

    Raises:
        InputError: The font is not installed.
    """
    font_settings = _font(font)
    with matplotlib.rc_context():
        matplotlib.rc_file(Path(__file__).with_name("house.mplstyle"))
        matplotlib.rcParams.update(
            {k: scale * size for k, size in _SIZES.items()} | font_settings
        )
        yield


def digits_size() -> float:
    """Return the font size of the numbers in cells, in points: slightly smaller than other text."""
    return float(matplotlib.rcParams["font.size"]) * 7 / 7.5


def save(
    figure: Figure,
    folder: Path,
    name: str,
    formats: Sequence[str] = FORMATS,
    font: str = "",
) -> list[Path]:
    """Write a figure in each format, every file complete or not at all; return their paths.

    The same figure gives the same bytes.

    Args:
        figure: The figure.
        folder: The folder to write to.
        name: The name of the files, without the suffix.
        formats: The suffixes of the files.
        font: The font in which the figure was drawn.

    Raises:
        InputError: The folder cannot be written to.
    """
    make_folder(folder)
    paths = {kind: folder / f"{name}.{kind}" for kind in formats}
    with house_style(font=font):
        for kind, path in paths.items():
            with replacing(path) as partial:
                figure.savefig(partial, format=kind, metadata=_NO_DATE.get(kind))
    return list(paths.values())


def _font(font: str) -> dict[Any, Any]:
    """Return the settings of a font, with the best match for formulas."""
    if not font:
        return {}
    try:
        if font not in _FAMILIES:
            findfont(FontProperties(family=[font]), fallback_to_default=False)
    except ValueError:
        raise InputError(
            f"the font {font!r} is not installed: install it, or use one of "
            f"{', '.join(_FAMILIES)}"
        ) from None
    return {"font.family": [font], "mathtext.fontset": _FAMILIES.get(font, "stix")}


# matplotlib would write today's date into a file.
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

_FAMILIES = {
    "sans-serif": "dejavusans",
    "serif": "dejavuserif",
    "monospace": "dejavusans",
}
"""The fonts that matplotlib brings along, each with the one of its formulas."""

_SIZES: dict[Any, Any] = {
    **dict.fromkeys(("axes.labelsize", "axes.titlesize", "figure.labelsize"), LABELS),
    **dict.fromkeys(("font.size", "legend.fontsize", "legend.title_fontsize"), 7.5),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 7.5),
}
"""Sizes of texts, in points."""
