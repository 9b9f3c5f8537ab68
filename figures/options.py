"""Options of a figure: learners, their printed names, width and font."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated

from pydantic import Field

from probe.validation import configuration

FORMATS = ("png", "svg")
"""The formats in which every figure of a run is written."""

ON_REQUEST = ("pdf", *FORMATS)
"""The formats in which a figure can be asked for."""

Names = Annotated[Sequence[str], Field(min_length=1)]


@configuration
class Options:
    """The options of a figure; by default it shows everything, in the house style.

    Attributes:
        learners: The learners to draw, in this order, None = all; the controls
            `offline` and `untrained` are always drawn.
        labels: The printed names, by the learner's name in the tables; colors and
            markers do not change.
        colors: The colors, by the learner's name in the tables; markers do not change.
        cmap: The colormap of heat maps, a name of matplotlib's; "" for the house's own.
        title: Whether the question and the study stand above the panels.
        readouts: The readouts to draw, None = all; the output has no readout and is
            always drawn.
        panel: The panel to draw into given axes, by its number, from 1, or its title;
            for figures of several panels.
        width: The width of the figure in inches, 1 to 30; None = one or two columns of
            a page.
        font_size: The font size of titles and axis labels in points, 4 to 30, None = 8;
            other sizes are in proportion.
        font: The font, `serif`, `sans-serif`, `monospace` or the name of an installed
            font; "" for sans-serif.

    Raises:
        InputError: The width or the font size is out of range.
    """

    learners: Names | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    cmap: str = ""
    title: bool = True
    readouts: Names | None = None
    panel: int | str | None = None
    width: Annotated[float, Field(ge=1, le=30, allow_inf_nan=False)] | None = None
    font_size: Annotated[float, Field(ge=4, le=30, allow_inf_nan=False)] | None = None
    font: str = ""
