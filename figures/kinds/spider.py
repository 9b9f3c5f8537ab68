"""Criteria of Diaz-Rodriguez 2018 as a spider chart.

There is a spoke for each of the seven criteria in which learners differ, from 0 in the
middle to 1 at the rim, larger is better, from metrics.csv, and a closed line for each
learner. The small panels show each learner with plain fine-tuning and training on
everything so far: its gain over the one, and its saving against the other.

A: accuracy; MS: model size; SSS: samples storage size; CE: computational efficiency;
REM: remembering; BWT+ and FWT: positive backward, and forward transfer. The wider a
learner's polygon the better; a dent is a weakness.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.appearance import Appearances
from figures.page import Page
from figures.style import DOUBLE
from figures.tables import StudyTables, differ
from probe.arrays import Floats
from probe.errors import InputError
from probe.metrics.diaz_rodriguez import NAMES
from probe.tables.table_file import where

_LEAST = 3  # spokes; fewer enclose no area
_RINGS = {0.25: "", 0.5: "0.5", 0.75: "", 1.0: "1"}
_ABOVE = 18  # points between a panel and its title, for the name of the first criterion

QUESTION = "Where is each method strong, and where weak?"
NEEDS = "two methods with all seven criteria, that differ in three of them"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw all learners in one large panel, and each with its bounds in a small one.

    A spoke is a criterion in [0, 1], larger is better (Diaz-Rodriguez 2018, figure 1a);
    its values are means over orders and seeds. A criterion on which all learners agree,
    as on the model size of equal networks, has no spoke.

    The lower bound is the learner of kind `finetune` without stored samples, the upper
    bound the learner of kind `cumulative` (figure 2); without one of them there are no
    small panels. Learners that lack a criterion are left out.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None with fewer than two learners or three spokes.
    """
    scores = where(tables.metrics, paper="diaz_rodriguez", metric=NAMES.values())
    criteria = _criteria(scores)
    varying = [name for name in NAMES if differ(criteria[name])]
    if tables.crowded or len(varying) < _LEAST:
        return None
    # The values of the criteria with a spoke, and the learners that bound the others.
    looks = page.appearances(criteria.index)
    learners = list(criteria.index)
    values = {name: criteria.loc[name, varying].to_numpy() for name in learners}
    bounds = [name for name in _bounds(tables.learners) if name in learners]
    # A small panel compares a learner with the bounds; a user's axes have room only for
    # the large panel.
    between: list[str] = []
    if bounds and page.axes is None:
        between = [name for name in learners if name not in bounds]
    # All learners in the large panel, then one with its bounds in each small panel.
    large, small = _grid(page, varying, [looks[name].label for name in between])
    _polygons(large, looks, values)
    angles = _angles(len(varying))
    for axes, name in zip(small, between, strict=True):
        # The learner last, so that its line lies over its bounds.
        _polygons(axes, looks, {key: values[key] for key in (*bounds, name)})
        axes.fill(
            angles,
            values[name],
            color=looks[name].color,
            alpha=0.25,
            lw=0,
        )
    # The legend and the caption.
    points = where(scores, metric=[NAMES[name] for name in varying], learner=learners)
    note = captions.with_head(captions.mean_over(points), points)
    page.legend([looks[name] for name in learners], note)
    constant = [name for name in NAMES if name not in varying]
    in_small = [page.display_name(name) for name in bounds if between]
    page.describe(
        learners,
        "Criteria of continual learning (Diaz-Rodriguez et al. 2018), from 0 in the "
        "middle to 1 at the rim, larger is better. A: accuracy; MS: model size; SSS: "
        "samples storage size; CE: computational efficiency; REM: remembering; BWT+: "
        "positive backward transfer; FWT: forward transfer",
        _with_names("Left out, as the same for all methods:", constant),
        _with_names("Small panels: one method each, with", in_small),
        captions.mean_over(points),
    )
    side = 1.0 if small else 2.3
    return page.fit(
        [*small, large],
        ("", ""),
        height=side,
        width=side,
        square=True,
    )


def _with_names(text: str, names: Sequence[str]) -> str:
    """Return a text followed by names as in a sentence, "" without names."""
    return f"{text} {captions.together(names)}" if names else ""


def _criteria(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the criteria of each learner that has all of them."""
    criteria = scores.pivot(index="learner", columns="metric", values="mean")
    # A learner without one is left out: its line would run straight past the missing
    # spoke, as if there were a value.
    criteria = criteria.reindex(scores["learner"].unique(), columns=NAMES.values())
    return criteria.dropna().set_axis([*NAMES], axis=1)


def _bounds(learners: pd.DataFrame) -> list[str]:
    """Return the learners that bound the others: no means against forgetting, or all data."""
    stores_nothing = learners["per_class"].isna() & learners["total"].isna()
    is_lower = (learners["kind"] == "finetune") & stores_nothing
    return list(learners["learner"][is_lower | (learners["kind"] == "cumulative")])


def _angles(spokes: int) -> Floats:
    """Return the angles of the spokes, clockwise from the top."""
    return np.linspace(0, 2 * math.pi, spokes, endpoint=False)


def _grid(
    page: Page, spokes: Sequence[str], titles: Sequence[str]
) -> tuple[Axes, list[Axes]]:
    """Return the large panel, and the small ones around it with these titles.

    The large panel takes two by two cells at the top left; without small panels there
    is one cell.
    """
    if page.axes is not None:
        if page.axes.name != "polar":
            raise InputError(
                "figures.spider needs polar axes: make them with "
                "plt.subplots(subplot_kw={'projection': 'polar'})"
            )
        (large,) = page.panels([""])
        return _web(large, spokes, scale=True), []
    small = len(titles)
    columns = rows = 1
    if small:
        # On a wide page 4 columns, or 3 for one or two small panels; the large panel takes
        # 4 cells.
        columns = max(2, min(4 if small > 2 else 3, round(4 * page.max_width / DOUBLE)))
        rows = max(2, math.ceil((small + 4) / columns))
    figure = page.blank(rows, wide=small > 0)
    spec = figure.add_gridspec(rows, columns)
    large = figure.add_subplot(spec[:2, :2], projection="polar")
    _web(large, spokes, scale=True)
    if small:
        large.set_title("All methods", pad=_ABOVE)
    # Those beside and below the large panel, which has rows and columns 0 and 1.
    cells = [cell for cell in np.ndindex(rows, columns) if max(cell) > 1]
    panels = []
    for cell, title in zip(cells, titles, strict=False):
        axes = figure.add_subplot(spec[cell], projection="polar")
        axes.set_title(page.fold_title(title, columns), pad=_ABOVE)
        panels.append(_web(axes, spokes, scale=False))
    return large, panels


def _web(axes: Axes, spokes: Sequence[str], *, scale: bool) -> Axes:
    """Draw the spokes and rings of a polar panel, with the criteria clockwise from the top.

    If `scale`, the rings have numbers.
    """
    angles = _angles(len(spokes))
    half = math.pi / len(spokes)
    axes.set(
        theta_offset=math.pi / 2,
        theta_direction=-1,
        ylim=(0, 1),
        xticks=[],
        yticks=[],
    )
    axes.set_anchor("N")
    axes.spines["polar"].set_visible(False)
    axes.grid(visible=False)
    thin: dict[str, Any] = {"linewidth": 0.6, "zorder": 0}
    for ring, number in _RINGS.items():
        # Straight from spoke to spoke, as the learners' lines are: no circle.
        axes.fill(
            angles,
            [ring] * len(angles),
            fill=False,
            edgecolor="0.85",
            **thin,
        )
        if scale and number:
            axes.text(
                -3 * half,  # between the last two spokes
                ring * math.cos(half),  # the middle of the rim between two spokes
                number,
                color="0.4",
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
    axes.vlines(
        angles,
        0,
        1,
        color="0.85",
        **thin,
    )
    for angle, name in zip(angles, spokes, strict=True):
        _name_spoke(axes, angle, name)
    return axes


def _name_spoke(axes: Axes, angle: float, name: str) -> None:
    """Write a criterion beyond the end of its spoke, aligned so that it points outward."""
    right = math.sin(angle)
    up = math.cos(angle)
    ha = va = "center"
    if abs(right) >= 0.1:
        ha = "left" if right > 0 else "right"
    if abs(up) > 0.5:
        va = "bottom" if up > 0 else "top"
    axes.annotate(
        name,
        (angle, 1),
        xytext=(5 * right, 5 * up),
        textcoords="offset points",
        ha=ha,
        va=va,
    )


def _polygons(axes: Axes, looks: Appearances, values: Mapping[str, Floats]) -> None:
    """Draw each learner's criteria, in [0, 1], as a closed line.

    Covered lines are wider, so that equal learners are all seen.
    """
    for (name, criteria), width in zip(
        values.items(), lines.widths(len(values)), strict=True
    ):
        angles = [*_angles(len(criteria)), 0]
        (line,) = axes.plot(angles, [*criteria, criteria[0]], clip_on=False)
        lines.dress(line, looks[name], size=3.6).set_linewidth(width)
