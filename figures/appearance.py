"""Who looks how: one name in print, color, marker and line for each learner and strategy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import cycle

Marker = str | tuple[int, int, int]
"""A marker as matplotlib writes it: its name, or a star's points, 1 and its turn."""

Line = str | tuple[float, tuple[float, ...]]
"""A line style as matplotlib writes it: its name, or an offset and lengths on and off."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How one thing is drawn in every figure: its name in print, color, marker and line style.

    filled: whether the marker is filled with the color, or white within a colored edge.
    """

    label: str
    color: str
    marker: Marker
    line: Line
    filled: bool = True

    @property
    def face(self) -> str:
        """The color within the marker."""
        return self.color if self.filled else "white"

    @property
    def edge(self) -> str:
        """The color of the marker's edge: a filled one has a white edge, to stand out."""
        return "white" if self.filled else self.color

    @property
    def edge_width(self) -> float:
        """The width of the marker's edge, in points."""
        return 0.4 if self.filled else 1.0


def of_learners(learners: Iterable[str]) -> dict[str, Look]:
    """Return each learner's look: fixed for those known by name, the spare ones in order of name.

    The colors are Okabe and Ito's without the yellow, which is too faint on paper, an indigo and a
    brown of Tol's, and a violet, a navy, a cyan and a magenta that color-blind readers too tell
    from all of these. Where one serves twice, line style and marker differ; in black and white
    the marker alone tells. A learner with stored samples (`ewc-s`) has the color and the shape of
    the same without, but an open marker and another line.

    >>> of_learners(["er", "mine"])["er"]
    Look(label='ER', color='#0072B2', marker='s', line='-', filled=True)
    >>> of_learners(["ewc-s"])["ewc-s"]
    Look(label='EWC-S', color='#009E73', marker='^', line='--', filled=False)
    """
    return _with_spares(learners, _KNOWN)


def distinct(learners: Iterable[str]) -> bool:
    """Whether no two of these learners look alike: there are looks for 14 with names of their own.

    >>> distinct(["er", "mine"]), distinct(f"mine-{k}" for k in range(15))
    (True, False)
    """
    return len(set(learners) - set(_KNOWN)) <= len(_SPARE)


def of_strategies(strategies: Iterable[str]) -> dict[str, Look]:
    """Return the look of each strategy that chooses stored samples, as `of_learners` does.

    >>> of_strategies(["mean_of_features"])["mean_of_features"].label
    'Mean of features'
    """
    return {
        name: replace(look, label=name.replace("_", " ").capitalize())
        for name, look in _with_spares(strategies, _STRATEGIES).items()
    }


def _with_spares(wanted: Iterable[str], known: dict[str, Look]) -> dict[str, Look]:
    names = set(wanted)
    spare = zip(sorted(names - set(known)), cycle(_SPARE), strict=False)
    others = {name: replace(look, label=name) for name, look in spare}
    return {name: look for name, look in (known | others).items() if name in names}


def _filled(label: str, color: str, marker: Marker, line: Line) -> Look:
    return Look(label=label, color=color, marker=marker, line=line)


def _open(label: str, color: str, marker: Marker, line: Line) -> Look:
    return Look(label=label, color=color, marker=marker, line=line, filled=False)


_SKY, _BLUE, _GREEN, _INDIGO = "#56B4E9", "#0072B2", "#009E73", "#332288"
_VIOLET, _NAVY, _CYAN, _MAGENTA = "#785EF0", "#113355", "#33BBCC", "#992288"
_ORANGE, _RED, _PINK, _BROWN, _GREY = "#E69F00", "#D55E00", "#CC79A7", "#661100", "#505050"
# Short enough to show twice in a legend, where a marker hides the middle.
_DOT: Line = (0, (3, 1.2, 1, 1.2))
_DOTS: Line = (0, (3, 1, 1, 1, 1, 1))
_LONG: Line = (0, (6, 2.2))

_KNOWN = {
    "offline": _filled("Offline", "#000000", "", "--"),
    "cumulative": _filled("Cumulative", _GREY, "h", "-"),
    "finetune": _filled("Finetune", _RED, "o", "-"),
    "finetune-s": _open("Finetune-S", _RED, "o", "--"),
    "ewc": _filled("EWC", _GREEN, "^", "-"),
    "ewc-s": _open("EWC-S", _GREEN, "^", "--"),
    "ewc_online": _filled("EWC++", _GREEN, "<", _DOT),
    "ewc_online-s": _open("EWC++-S", _GREEN, "<", ":"),
    "si": _filled("SI", _ORANGE, "D", "-"),
    "si-s": _open("SI-S", _ORANGE, "D", "--"),
    "rwalk": _filled("RWalk", _INDIGO, "X", "-"),
    "rwalk-s": _open("RWalk-S", _INDIGO, "X", "--"),
    "lwf": _filled("LwF", _PINK, "v", "-"),
    "lwf-s": _open("LwF-S", _PINK, "v", "--"),
    "gem": _filled("GEM", _SKY, "P", "-"),
    "er": _filled("ER", _BLUE, "s", "-"),
    "icarl": _filled("iCaRL", _BROWN, ">", "-"),
    "icarl_hybrid1": _open("iCaRL-hb1", _BROWN, ">", "--"),
    "pathnet": _filled("PathNet", _VIOLET, (4, 1, 0), _DOTS),
    "geppnet": _filled("GeppNet", _NAVY, (6, 1, 0), _LONG),
    "geppnet_stm": _open("GeppNet+STM", _CYAN, (6, 1, 0), "--"),
    "fel": _open("FEL", _MAGENTA, "s", _DOT),
}

_STRATEGIES = {
    "uniform": _filled("", _BLUE, "s", "-"),
    "plane_distance": _filled("", _ORANGE, "D", "-"),
    "entropy": _filled("", _GREEN, "^", "-"),
    "mean_of_features": _filled("", _INDIGO, "X", "-"),
}

_SPARE = [
    _filled("", _ORANGE, "p", _DOTS),
    _filled("", _PINK, "d", _DOTS),
    _filled("", _SKY, "*", _DOTS),
    _open("", _RED, (4, 1, 0), _DOTS),
    _open("", _BLUE, "P", _DOTS),
    _open("", _GREEN, "x", _DOTS),
    _open("", _GREY, "h", _DOTS),
    _filled("", _ORANGE, "8", _LONG),
    _open("", _PINK, "p", _LONG),
    _open("", _SKY, "d", _LONG),
    _open("", _RED, "*", _LONG),
    _open("", _BLUE, "8", _LONG),
    _filled("", _GREEN, (4, 1, 45), _LONG),
    _filled("", _GREY, ".", _LONG),
]
