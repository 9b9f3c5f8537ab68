"""Options of a figure: learners, their names in print, width and font."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probe.errors import InputError

FORMATS = ("png", "svg")
"""The formats in which every figure of a run is written."""

ON_REQUEST = ("pdf", *FORMATS)
"""The formats in which a figure can be asked for."""

WIDTHS, FONT_SIZES = (1.0, 30.0), (4.0, 30.0)
"""The least and the most that can be asked for: inches, points."""


@dataclass(frozen=True, kw_only=True)
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

    learners: Sequence[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    readouts: Sequence[str] | None = None
    panel: int | str | None = None
    width: float | None = None
    font_size: float | None = None
    font: str = ""

    def __post_init__(self) -> None:
        _check("width", self.width, WIDTHS, "inches")
        _check("font size", self.font_size, FONT_SIZES, "points")
        for what, names in (("learners", self.learners), ("readouts", self.readouts)):
            if isinstance(names, str):
                raise InputError(f"{what} are names in a list, got {names!r}: [{names!r}]")
            if names is not None and (not names or len(set(names)) < len(names)):
                raise InputError(f"{what} are one name or more, each once, got {list(names)}")


def _check(name: str, value: float | None, bounds: tuple[float, float], unit: str) -> None:
    """Raise InputError for a size that is no number within the bounds."""
    low, high = bounds
    if value is not None and not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"the {name} has to be from {low:g} to {high:g} {unit}, got {value:g}")
