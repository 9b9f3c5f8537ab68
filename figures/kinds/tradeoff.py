"""Forgetting against intransigence: what each learner gives up for what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, parts, style
from figures import metric_table as metrics
from probe.tables.rows import MetricRow

QUADRANTS = {(0, 0): "PBT, PFT", (1, 0): "NBT, PFT", (0, 1): "PBT, NFT", (1, 1): "NBT, NFT"}
"""Their names by corner: (right, top)."""

_HEIGHT = 2.5
_NAME_WIDE, _NAME_HIGH = 0.25, 0.11  # shares of the panel that a quadrant's name needs, with room


def draw(table: Sequence[MetricRow]) -> Figure | None:
    """Draw one marker per learner at (F_T, I_T), with bars of one std over seeds either way.

    Lower is better in both. The lines at 0 part positive from negative transfer: backward (PBT,
    NBT) along x, forward (PFT, NFT) along y (Chaudhry 2018, figure 3). Returns None if no learner
    has both.
    """
    T, forgetting = metrics.final(table, "forgetting")
    _, intransigence = metrics.final(table, "intransigence")
    learners = [name for name in forgetting if name in intransigence]
    if not learners:
        return None
    look = looks.of_learners(learners)
    F, I_T = ([rows[name] for name in learners] for rows in (forgetting, intransigence))
    with style.house_style():
        width = style.SINGLE if len(learners) <= 2 * style.MANY else style.DOUBLE
        figure, (axes,) = parts.panels(1, 1, width)
        _quadrants(axes, F, I_T)
        for name, x, y in zip(learners, F, I_T, strict=True):
            parts.plot_bars(
                axes, look[name], [x.mean], [y.mean], x_bars=[x.std], y_bars=[y.std], joined=False
            )
        keys = [parts.learner_key(look[name], joined=False) for name in learners]
        parts.legend_above(figure, keys, heads.noted(parts.seeds_note([*F, *I_T]), F))
        labels = (
            f"Forgetting $F_{{{T}}}$\n(below 0: positive backward transfer, PBT)",
            f"Intransigence $I_{{{T}}}$\n(below 0: positive forward transfer, PFT)",
        )
        parts.fit(figure, [axes], labels, height=_HEIGHT)
    return figure


def _quadrants(axes: Axes, F: Sequence[MetricRow], I_T: Sequence[MetricRow]) -> None:
    """Draw the lines at 0 and name what they part, beyond the reach of every marker and bar."""
    axes.grid(visible=False)
    axes.axhline(0, color="0.4", linewidth=0.7, zorder=1)
    axes.axvline(0, color="0.4", linewidth=0.7, zorder=1)
    axes.set_xlim(_limits(F, margin=0.05, least=_NAME_WIDE))
    axes.set_ylim(_limits(I_T, margin=_NAME_HIGH, least=0))
    for (right, top), name in QUADRANTS.items():
        axes.text(
            0.985 if right else 0.015,
            0.985 if top else 0.015,
            name,
            transform=axes.transAxes,
            ha="right" if right else "left",
            va="top" if top else "bottom",
            color="0.4",
        )


def _limits(rows: Sequence[MetricRow], margin: float, least: float) -> tuple[float, float]:
    """Return limits around 0 and all bars; the margins and either side of 0 are shares of them."""
    means, reach = np.array([row.mean for row in rows]), np.nan_to_num([row.std for row in rows])
    low, high = min(0.0, *(means - reach)), max(0.0, *(means + reach))
    room = margin / (1 - 2 * margin) * ((high - low) or 0.1)
    low, high = low - room, high + room
    ratio = least / (1 - least)
    return min(low, -ratio * high), max(high, -ratio * low)
