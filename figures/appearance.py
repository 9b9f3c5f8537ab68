"""Appearance of learners in every figure: printed name, color, marker and line style.

The table of appearances is in appearances.csv. The colors are Okabe and Ito's without
the yellow, which is too faint on paper, an indigo and a brown of Tol's, and a violet, a
navy, a cyan and a magenta that color-blind readers can also tell from all of these.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

Marker = str | tuple[int, int, int]
"""A marker as matplotlib writes it: a name, or (number of points, 1, rotation) of a star."""

LineStyle = str | tuple[float, tuple[float, ...]]
"""A line style as matplotlib writes it: a name, or (offset, lengths of dashes and gaps)."""


@dataclass(frozen=True)
class Appearance:
    """The appearance of a learner, or of a sampling strategy, in all figures.

    Attributes:
        label: The printed name.
        color: The color of line and marker.
        marker: The marker, as matplotlib names it.
        line: The line style, as matplotlib names it.
        filled: Whether the marker is filled; otherwise it is white with an edge of that
            color.
    """

    label: str
    color: str
    marker: Marker
    line: LineStyle
    filled: bool = True


Appearances = dict[str, Appearance]
"""Appearance of each learner of a figure, by its name in the tables."""


def learner_appearances(learners: Iterable[str]) -> Appearances:
    """Return the appearance of each learner, by name.

    Learners of this package have a fixed appearance. Others get spare ones in
    alphabetical order, whatever their order in the table; after 14 learners the spare
    ones repeat.

    If a color is used twice, line
    style and marker differ; in black and white only the marker tells learners apart. A
    learner with stored samples (`ewc-s`) has the color and marker of the same learner
    without them, but the marker is open and the line style differs. Another variant of
    a learner (`ewc-paper`) has its color, and a marker of its own.

    >>> learner_appearances(["er", "mine"])["er"]
    Appearance(label='ER', color='#0072B2', marker='s', line='-', filled=True)
    >>> learner_appearances(["ewc-s"])["ewc-s"]
    Appearance(label='EWC-S', color='#009E73', marker='^', line='--', filled=False)
    >>> learner_appearances(["ewc-paper"])["ewc-paper"].color
    '#009E73'
    """
    return _with_spare(learners, _LEARNERS)


def distinct(learners: Iterable[str]) -> bool:
    """Return whether all of these learners look different; up to 14 user-defined ones do.

    >>> distinct(["er", "mine"]), distinct(f"mine-{k}" for k in range(15))
    (True, False)
    """
    return len(set(learners) - set(_LEARNERS)) <= len(_SPARE)


def strategy_appearances(strategies: Iterable[str]) -> Appearances:
    """Return the appearance of each strategy for choosing stored samples, by name.

    >>> strategy_appearances(["mean_of_features"])["mean_of_features"].label
    'Mean of features'
    """
    return {
        name: replace(appearance, label=name.replace("_", " ").capitalize())
        for name, appearance in _with_spare(strategies, _STRATEGIES).items()
    }


def _with_spare(wanted: Iterable[str], fixed: Appearances) -> Appearances:
    """Return the appearance of each name, fixed if it has one, else the next spare one."""
    names = set(wanted)
    # In the order of `fixed`: figures that list learners by appearance rely on it.
    looks = {name: look for name, look in fixed.items() if name in names}
    for name, spare in zip(sorted(names - set(fixed)), cycle(_SPARE), strict=False):
        color = _color_of_kind(name, fixed) or spare.color
        looks[name] = replace(spare, label=name, color=color)
    return looks


def _color_of_kind(name: str, fixed: Appearances) -> str:
    """Return the color of the learner that a name begins with, as in `ewc-paper`, "" if none."""
    kinds = [kind for kind in fixed if name.startswith(f"{kind}-")]
    return fixed[max(kinds, key=len)].color if kinds else ""


# Short enough to show twice in a legend, where a marker hides the middle.
_LINES: dict[str, LineStyle] = {
    "dash-dot": (0, (3, 1.2, 1, 1.2)),
    "dash-dot-dot": (0, (3, 1, 1, 1, 1, 1)),
    "long-dash": (0, (6, 2.2)),
}

_STARS = {"star-4": (4, 1, 0), "star-4-turned": (4, 1, 45), "star-6": (6, 1, 0)}


def _read(use: str) -> list[tuple[str, Appearance]]:
    """Return the names and appearances in appearances.csv that have this use, in order."""
    table = Path(__file__).with_name("appearances.csv").read_text("utf-8")
    appearances = []
    for row in csv.DictReader(table.splitlines()):
        if row["use"] == use:
            look = Appearance(
                label=row["label"],
                color=row["color"],
                marker=_STARS.get(row["marker"], row["marker"]),
                line=_LINES.get(row["line"], row["line"]),
                filled=row["filled"] == "yes",
            )
            appearances.append((row["name"], look))
    return appearances


_LEARNERS = dict(_read("learner"))

# Their labels are made of their names.
_STRATEGIES = dict(_read("strategy"))

# For user-defined learners. In black and white, too, none is taken for another learner:
# no two have both marker and fill in common.
_SPARE = [look for _, look in _read("spare")]
