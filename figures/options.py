"""Options of a figure: learners, their names in print, width and font."""

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
Inches = Annotated[float, Field(ge=1, le=30, allow_inf_nan=False)]
Points = Annotated[float, Field(ge=4, le=30, allow_inf_nan=False)]


@configuration
class Options:
    """Options of a figure; by default it shows everything, in the house style.

    - learners: those that are drawn, in this order, None = all; the controls `offline` and
      `untrained` stay;
    - labels: names in print, by the learner's name in the tables; colors and markers stay;
    - readouts: those that are drawn, None = all; the output has none, and stays;
    - panel: of a figure of several panels, the one that is drawn into given axes: its number, from
      1, or its title;
    - width: of the figure, in inches, 1 to 30, None = a column of a page, or two;
    - font_size: of titles and labels of axes, in points, 4 to 30, None = 8; the rest in proportion;
    - font: `serif`, `sans-serif`, `monospace` or the name of an installed font, "" = sans-serif.

    Raises InputError for a width or size out of range.
    """

    learners: Names | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    readouts: Names | None = None
    panel: int | str | None = None
    width: Inches | None = None
    font_size: Points | None = None
    font: str = ""
