"""Forgetting against intransigence: the trade-off of each learner.

x: F_T, the accuracy lost on earlier tasks; y: I_T, the accuracy missing on the last
task compared to training on everything so far; both are differences of fractions, from
metrics.csv. A marker for each learner, bars for the seeds (Chaudhry et al. 2018, figure
3).

A learner that retains old tasks may fail to learn new ones. The best learners are at
the bottom left: they forget little, and learn each task as well as a model trained on
all data so far.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, half_widths

QUADRANTS = {
    ("left", "bottom"): "PBT, PFT",
    ("right", "bottom"): "NBT, PFT",
    ("left", "top"): "PBT, NFT",
    ("right", "top"): "NBT, NFT",
}
"""The name of each quadrant by its corner: positive or negative, backward and forward transfer."""

# Shares of the panel that a quadrant's name needs, with room.
_NAME_WIDE = 0.25
_NAME_HIGH = 0.11

QUESTION = "Does a method forget, or fail to learn?"
NEEDS = "a method with forgetting and intransigence (besides `cumulative`)"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one marker per learner at (F_T, I_T), with 95 % intervals over seeds.

    Lower is better for both. The lines at 0 separate positive from negative transfer:
    backward (PBT, NBT) along x, forward (PFT, NFT) along y (Chaudhry 2018, figure 3).

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no learner has both numbers.
    """
    # The learners with both numbers after all T tasks.
    T, forgetting = tables.after_last_task("forgetting")
    _, intransigence = tables.after_last_task("intransigence")
    learners = [
        learner for learner in forgetting.index if learner in intransigence.index
    ]
    if tables.crowded or not learners:
        return None
    looks = page.appearances(learners)
    F = forgetting.loc[learners]
    I_T = intransigence.loc[learners]
    # So many names have no room above a narrow figure.
    (axes,) = page.panels([""], wide=len(learners) > 2 * MANY)
    # Before the markers: the limits of both axes come only from the numbers.
    axes.grid(visible=False)
    for draw_line in (axes.axhline, axes.axvline):
        draw_line(0, color="0.4", linewidth=0.7, zorder=1)
    axes.set_xlim(_limits(F, margin=0.05, least=_NAME_WIDE))
    axes.set_ylim(_limits(I_T, margin=_NAME_HIGH, least=0))
    _name_quadrants(axes)
    for name in learners:
        x = F.loc[[name]]
        look = looks[name]
        bars = half_widths(x)
        y = I_T.loc[[name]]
        lines.plot_means(
            axes,
            look,
            x["mean"],
            y,
            x_bars=bars,
            scale=1,
            joined=False,
        )
    points = pd.concat([F, I_T])
    note = captions.with_head(captions.over_seeds(points), F)
    page.legend([looks[name] for name in learners], note, joined=False)
    axis_labels = (
        f"Forgetting $F_{{{T}}}$\n(below 0: positive backward transfer, PBT)",
        f"Intransigence $I_{{{T}}}$\n(below 0: positive forward transfer, PFT)",
    )
    page.describe(
        learners,
        f"Forgetting against intransigence after {captions.counted(T, 'task')} "
        "(Chaudhry et al. 2018): how much accuracy on earlier tasks is lost, and how "
        "far the last one is below training on all tasks so far; lower is better in "
        "both",
        "PBT and NBT: positive and negative backward transfer; PFT and NFT: the same "
        "forward",
        captions.over_seeds(points),
    )
    return page.fit([axes], axis_labels, height=2.5)


def _name_quadrants(axes: Axes) -> None:
    """Write the names of the quadrants into the corners, where the limits have made room."""
    for (ha, va), name in QUADRANTS.items():
        x = 0.985 if ha == "right" else 0.015
        y = 0.985 if va == "top" else 0.015
        axes.text(
            x,
            y,
            name,
            transform=axes.transAxes,
            ha=ha,
            va=va,
            color="0.4",
        )


def _limits(rows: pd.DataFrame, margin: float, least: float) -> tuple[float, float]:
    """Return the limits of an axis that holds 0 and all bars of the rows.

    `margin` is the share of the axis that stays free at either end, `least` the least
    share on either side of 0.
    """
    means = rows["mean"]
    half_bars = half_widths(rows).fillna(0)
    low = min(0.0, *(means - half_bars))
    high = max(0.0, *(means + half_bars))
    # With so much room at either end, `margin` of the whole axis is free there.
    room = margin / (1 - 2 * margin) * ((high - low) or 0.1)
    low = low - room
    high = high + room
    # Room on either side of 0, as a multiple of that on the other.
    side_ratio = least / (1 - least)
    return min(low, -side_ratio * high), max(high, -side_ratio * low)
