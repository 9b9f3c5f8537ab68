"""Remedies for a change of a network: scores on new examples against scores on old ones.

x: new examples, y: old examples, from `probe.diff(...).remedies`; a marker for each
remedy, `before` and `as it is` among them. The best are at the top right. Without new
examples, x is the score on old examples, and every remedy is a row, in the order of the
table.
"""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from figures import layout, style
from figures.appearance import Appearance
from figures.lines import MOST_BARRED, MOST_NAMED, Entry, dress
from figures.tables import plain
from figures.user_axes import UserAxes
from probe.arrays import Floats

_UNITS = {
    "accuracy": "accuracy (%)",
    "loss": "minus the loss (nats)",
    "squared_error": "minus the squared error",
}

_TRAINED = Appearance("trained", "#D55E00", "D", "")
_OUTPUTS = Appearance("outputs", "#E69F00", "P", "")
_OTHER = Appearance("user-defined", "#785EF0", "*", "")
_LOOKS = {
    "before": Appearance("before", "#000000", "s", ""),
    "as it is": Appearance("as it is", "#000000", "X", ""),
    "put back": Appearance("put back", "#0072B2", "o", ""),
    "average": Appearance("averaged", "#009E73", "^", ""),
    "statistics": Appearance("statistics", "#CC79A7", "v", ""),
    "new head": _TRAINED,
    "head": _TRAINED,
    "everything": _TRAINED,
    "renamed": _OUTPUTS,
    "bias": _OUTPUTS,
}

_BEST = 3  # ranks that are named
_LEFT = 1.04  # left edge of names beside the axes, in widths of the axes
_THIN = 0.5  # points: width of lines
_GRAY = "0.6"


def score_unit(score: str) -> str:
    """Return the name of a score with its unit.

    Args:
        score: The score of `probe.diff`; higher is better.

    Returns:
        The text.

    >>> score_unit("accuracy"), score_unit("margin")
    ('accuracy (%)', 'margin')
    """
    return _UNITS.get(score, score)


def draw_remedies(
    remedies: pd.DataFrame,
    ax: Axes | None = None,
    *,
    unit: str = "accuracy (%)",
    is_accuracy: bool = True,
) -> Axes:
    """Draw the score of each remedy on new examples against that on old ones.

    Beside the axes stand the names of `before`, `as it is`, the three best ranks and
    the front, up to ten. Without scores on new examples, every remedy has a row with
    its name.

    Args:
        remedies: The remedies of `probe.diff`, a row each.
        ax: The axes to draw into, with the user's settings; None = a figure in the
            house style.
        unit: The name of the score with its unit.
        is_accuracy: Whether scores are fractions, shown in percent.

    Returns:
        The axes.
    """
    has_new = bool(remedies["new"].notna().any())
    if ax is None:
        height = 3.9 if has_new else 1.2 + 0.19 * len(remedies)
        with style.house_style():
            figure = Figure(figsize=(5.2, height), layout="constrained")
            return draw_remedies(
                remedies,
                figure.subplots(),
                unit=unit,
                is_accuracy=is_accuracy,
            )
    page = UserAxes(axes=ax, kind="remedies")
    rows = _points(remedies, has_new, scale=100 if is_accuracy else 1)
    if not has_new or len(rows) <= MOST_BARRED:
        _draw_bars(ax, rows)
    keys = _draw_points(ax, rows)
    labels = f"New examples: {unit}", f"Old examples: {unit}"
    named = rows[:0]
    if has_new:
        keys.append(_draw_front(ax, rows[rows["front"]]))
        named = _most_important(rows)
    else:
        labels = labels[1], ""
        ax.set_yticks(rows["y"], rows["name"])
        ax.set_ylim(len(rows) - 0.5, -0.5)
    texts = [
        ax.text(_LEFT, 0.5, name, transform=ax.transAxes) for name in named["name"]
    ]
    page.legend(keys, joined=False)
    page.fit([ax], labels)
    _place(page, named, texts)
    return ax


def _points(remedies: pd.DataFrame, has_new: bool, scale: float) -> pd.DataFrame:
    """Return the rows with a short name, an appearance, a position, and the ends of bars.

    The columns are x, x_low, x_high and the same of y: scores on new and on old examples
    or, without new ones, scores on old examples and the number of the row.
    """
    rows = remedies.reset_index(drop=True)
    width, height = (28, 2) if has_new else (44, 1)
    lines = [
        wrap(name, width, max_lines=height, placeholder=" …") for name in rows["remedy"]
    ]
    rows["name"] = ["\n".join(map(plain, name)) for name in lines]
    rows["look"] = [_LOOKS.get(kind, _OTHER) for kind in rows["kind"]]
    for end in ("", "_low", "_high"):
        old = scale * rows[f"old{end}"].astype(float)
        if has_new:
            rows[f"x{end}"] = scale * rows[f"new{end}"].astype(float)
            rows[f"y{end}"] = old
        else:
            rows[f"x{end}"] = old
            rows[f"y{end}"] = rows.index
    return rows


def _draw_bars(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the intervals of all remedies along x and y."""
    axes.hlines(
        rows["y"],
        rows["x_low"],
        rows["x_high"],
        color=_GRAY,
        linewidth=_THIN,
    )
    axes.vlines(
        rows["x"],
        rows["y_low"],
        rows["y_high"],
        color=_GRAY,
        linewidth=_THIN,
    )


def _draw_points(axes: Axes, rows: pd.DataFrame) -> list[Entry]:
    """Draw all remedies, with lines through the network as it is, and return their looks."""
    axes.grid(visible=False)
    for row in rows[rows["kind"] == "as it is"].itertuples():
        axes.axvline(row.x, color="0.8", zorder=0)
        axes.axhline(row.y, color="0.8", zorder=0)
    # In reverse order, so that the two networks themselves, the first rows, are on top.
    for look, members in rows[::-1].groupby("look", sort=False):
        (line,) = axes.plot(members["x"], members["y"])
        dress(line, look, size=5.2, joined=False)
    return list(rows["look"].unique())


def _draw_front(axes: Axes, rows: pd.DataFrame) -> Entry:
    """Draw the front as steps, beyond which there is no remedy, and return its key."""
    corners = rows.sort_values(["x", "y"], ascending=[True, False])
    (line,) = axes.step(
        corners["x"],
        corners["y"],
        color="0.5",
        zorder=1,
        label="front",
    )
    return line


def _most_important(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose names are written, the lowest point first."""
    is_best = rows["rank"] <= _BEST
    is_end = rows["kind"].isin(["before", "as it is"])
    named = rows[rows["front"] | is_best | is_end]
    return named.nsmallest(MOST_NAMED, "rank").sort_values("y")


def _place(page: UserAxes, rows: pd.DataFrame, names: Sequence[Text]) -> None:
    """Move names near the heights of their points, and join them by lines."""
    layout.arrange(page.figure)
    axes = page.axes
    # Heights and wanted centers of names, as shares of the axes' height.
    pixels = [1.1 * name.get_window_extent().height for name in names]
    wanted = axes.transLimits.transform(rows[["x", "y"]])[:, 1]
    heights = np.divide(pixels, axes.bbox.height)
    centers = spread(wanted, heights)
    for row, name, center in zip(rows.itertuples(), names, centers, strict=True):
        name.set(y=center, va="center")
        axes.annotate(
            "",
            (row.x, row.y),
            (_LEFT - 0.01, center),
            textcoords="axes fraction",
            arrowprops={
                "arrowstyle": "-",
                "color": _GRAY,
                "linewidth": _THIN,
            },
        )


def spread(wanted: Floats, heights: Floats) -> Floats:
    """Return the centers of texts, one above the other, that are near the wanted ones.

    Args:
        wanted: The wanted centers, ascending, (N,).
        heights: The heights of the texts, (N,); their sum is at most 1.

    Returns:
        The centers, (N,), in the same order; all texts lie within [0, 1].

    >>> spread(np.array([0.5, 0.5, 1.0]), np.array([0.2, 0.2, 0.2])).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    # The centers if all texts lay at the bottom without gaps. Shifts that never decrease
    # keep them apart: the mean of the lowest such shifts above the wanted ones, and of the
    # highest below.
    lowest = heights.cumsum() - heights / 2
    shifts = wanted - lowest
    upward = np.maximum.accumulate(shifts)
    downward = np.minimum.accumulate(shifts[::-1])[::-1]
    middle = (upward + downward) / 2
    centers: Floats = lowest + middle.clip(0, 1 - heights.sum())
    return centers
