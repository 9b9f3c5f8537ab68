"""Appearance of learners in every figure: printed name, color, marker and line style."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle

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


Appearances = Mapping[str, Appearance]
"""Appearance of each learner of a figure, by its name in the tables."""


def learner_appearances(learners: Iterable[str]) -> dict[str, Appearance]:
    """Return the appearance of each learner, by name.

    Learners of this package have a fixed appearance. Others get spare ones in
    alphabetical order, whatever their order in the table; after 14 learners the spare
    ones repeat.

    The colors are Okabe and Ito's without the yellow, which is too faint on paper, an
    indigo and a brown of Tol's, and a violet, a navy, a cyan and a magenta that
    color-blind readers can also tell from all of these. If a color is used twice, line
    style and marker differ; in black and white only the marker tells learners apart. A
    learner with stored samples (`ewc-s`) has the color and marker of the same learner
    without them, but the marker is open and the line style differs. Another variant of
    a learner (`ewc-paper`) has its color, and a marker of its own.

    >>> learner_appearances(["er", "mine"])["er"]
    Appearance(label='ER', color='#0072B2', marker='s', line='-', filled=True)
    >>> learner_appearances(["ewc-s"])["ewc-s"]
    Appearance(label='EWC-S', color='#009E73', marker='^', line='--', filled=False)
    """
    return _with_spare(learners, _LEARNERS)


def distinct(learners: Iterable[str]) -> bool:
    """Return whether all of these learners look different; up to 14 user-defined ones do.

    >>> distinct(["er", "mine"]), distinct(f"mine-{k}" for k in range(15))
    (True, False)
    """
    return len(set(learners) - set(_LEARNERS)) <= len(_SPARE)


def strategy_appearances(strategies: Iterable[str]) -> dict[str, Appearance]:
    """Return the appearance of each strategy for choosing stored samples, by name.

    >>> strategy_appearances(["mean_of_features"])["mean_of_features"].label
    'Mean of features'
    """
    return {
        name: replace(appearance, label=name.replace("_", " ").capitalize())
        for name, appearance in _with_spare(strategies, _STRATEGIES).items()
    }


def _with_spare(
    wanted: Iterable[str], fixed: dict[str, Appearance]
) -> dict[str, Appearance]:
    names = set(wanted)
    spare = zip(sorted(names - set(fixed)), cycle(_SPARE), strict=False)
    others = {
        name: replace(look, label=name, color=_color_of_kind(name, fixed) or look.color)
        for name, look in spare
    }
    # In the order of `fixed`: figures that list learners by appearance rely on it.
    return {name: look for name, look in (fixed | others).items() if name in names}


def _color_of_kind(name: str, fixed: dict[str, Appearance]) -> str:
    """Return the color of the learner that a name begins with, as in `ewc-paper`, "" if none."""
    kinds = [kind for kind in fixed if name.startswith(f"{kind}-")]
    return fixed[max(kinds, key=len)].color if kinds else ""


_SKY, _BLUE, _GREEN, _INDIGO = "#56B4E9", "#0072B2", "#009E73", "#332288"
_VIOLET, _NAVY, _CYAN, _MAGENTA = "#785EF0", "#113355", "#33BBCC", "#992288"
_ORANGE, _RED, _PINK, _BROWN, _GRAY = (
    "#E69F00",
    "#D55E00",
    "#CC79A7",
    "#661100",
    "#505050",
)
# Short enough to show twice in a legend, where a marker hides the middle.
_DASH_DOT: LineStyle = (0, (3, 1.2, 1, 1.2))
_DASH_DOT_DOT: LineStyle = (0, (3, 1, 1, 1, 1, 1))
_LONG_DASH: LineStyle = (0, (6, 2.2))

_LEARNERS = {
    "offline": Appearance("Offline", "#000000", "", "--"),
    "untrained": Appearance("Untrained", _GRAY, "", ":"),
    "cumulative": Appearance("Cumulative", _GRAY, "h", "-"),
    "finetune": Appearance("Finetune", _RED, "o", "-"),
    "finetune-s": Appearance("Finetune-S", _RED, "o", "--", filled=False),
    "ewc": Appearance("EWC", _GREEN, "^", "-"),
    "ewc-s": Appearance("EWC-S", _GREEN, "^", "--", filled=False),
    "ewc_online": Appearance("EWC++", _GREEN, "<", _DASH_DOT),
    "ewc_online-s": Appearance("EWC++-S", _GREEN, "<", ":", filled=False),
    "si": Appearance("SI", _ORANGE, "D", "-"),
    "si-s": Appearance("SI-S", _ORANGE, "D", "--", filled=False),
    "rwalk": Appearance("RWalk", _INDIGO, "X", "-"),
    "rwalk-s": Appearance("RWalk-S", _INDIGO, "X", "--", filled=False),
    "lwf": Appearance("LwF", _PINK, "v", "-"),
    "lwf-s": Appearance("LwF-S", _PINK, "v", "--", filled=False),
    "gem": Appearance("GEM", _SKY, "P", "-"),
    "er": Appearance("ER", _BLUE, "s", "-"),
    "icarl": Appearance("iCaRL", _BROWN, ">", "-"),
    "icarl_hybrid1": Appearance("iCaRL-hb1", _BROWN, ">", "--", filled=False),
    "pathnet": Appearance("PathNet", _VIOLET, (4, 1, 0), _DASH_DOT_DOT),
    "geppnet": Appearance("GeppNet", _NAVY, (6, 1, 0), _LONG_DASH),
    "geppnet_stm": Appearance("GeppNet+STM", _CYAN, (6, 1, 0), "--", filled=False),
    "fel": Appearance("FEL", _MAGENTA, "s", _DASH_DOT, filled=False),
}

# Their labels are made of their names.
_STRATEGIES = {
    "uniform": Appearance("", _BLUE, "s", "-"),
    "plane_distance": Appearance("", _ORANGE, "D", "-"),
    "entropy": Appearance("", _GREEN, "^", "-"),
    "mean_of_features": Appearance("", _INDIGO, "X", "-"),
}

# For user-defined learners. In black and white, too, none is taken for another learner:
# no two have both marker and fill in common.
_SPARE = [
    Appearance("", _ORANGE, "p", _DASH_DOT_DOT),
    Appearance("", _PINK, "d", _DASH_DOT_DOT),
    Appearance("", _SKY, "*", _DASH_DOT_DOT),
    Appearance("", _RED, (4, 1, 0), _DASH_DOT_DOT, filled=False),
    Appearance("", _BLUE, "P", _DASH_DOT_DOT, filled=False),
    Appearance("", _GREEN, "x", _DASH_DOT_DOT, filled=False),
    Appearance("", _GRAY, "h", _DASH_DOT_DOT, filled=False),
    Appearance("", _ORANGE, "8", _LONG_DASH),
    Appearance("", _PINK, "p", _LONG_DASH, filled=False),
    Appearance("", _SKY, "d", _LONG_DASH, filled=False),
    Appearance("", _RED, "*", _LONG_DASH, filled=False),
    Appearance("", _BLUE, "8", _LONG_DASH, filled=False),
    Appearance("", _GREEN, (4, 1, 45), _LONG_DASH),
    Appearance("", _GRAY, ".", _LONG_DASH),
]
