"""Omega_base, Omega_new and Omega_all: retention, new learning and overall accuracy.

x: learners; y: Omega, from metrics.csv; one shade of blue for each of the three (Kemker
et al. 2018, table 2). Omega_new is an accuracy. A high Omega_new beside a low
Omega_base shows a learner that forgets; the reverse shows one that does not learn.

Omega_base and Omega_all are fractions of the joint network's accuracy (Kemker 2018):
at 1 a learner is as good as joint training, above 1 it is better.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from figures import captions
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, differ, half_widths

SHADES = {"omega_base": "#DEEBF7", "omega_new": "#9ECAE1", "omega_all": "#3182BD"}
"""The color of each Omega's bars: Brewer's blues, which print as three grays."""

_BAR = 0.26  # width of a bar along x
_EDGE: dict[str, Any] = {"edgecolor": "0.2", "linewidth": 0.6}

QUESTION = "How near to joint training does each method come?"
NEEDS = "two methods that differ, and the accuracy of joint training"
TABLES = ("metrics",)


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one group of bars per learner: its three Omegas (Kemker 2018, table 2).

    The learners are in the order of their appearances, not in that of the study. Error
    bars are 95 % intervals over seeds; the line at 1 is joint training, or for
    Omega_new a perfect one.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None unless two learners have all three Omegas, which need joint training.
    """
    omegas = _omegas(tables, page)
    if not omegas:
        return None
    # A bar for each learner and Omega, and a key for each Omega.
    points = pd.concat(omegas.values())
    looks = page.appearances(points.index)
    (axes,) = page.panels([""], wide=len(looks) > MANY)
    entries = []
    for k, (name, rows) in enumerate(omegas.items()):
        # The middle of a learner's bars stands over its name.
        x = np.arange(len(looks)) + (k - (len(omegas) - 1) / 2) * _BAR
        _draw_bars(axes, x, rows, SHADES[name])
        sign = rf"$\Omega_{{\mathrm{{{name.removeprefix('omega_')}}}}}$"
        # The others are shares of joint training's.
        sign += " (accuracy)" * (name == "omega_new")
        entries.append(Patch(facecolor=SHADES[name], label=sign, **_EDGE))
    axes.axhline(
        1,
        color="0.4",
        linewidth=0.8,
        linestyle="--",
        zorder=0.9,
    )
    axes.set_xlim(-0.6, len(looks) - 0.4)
    page.legend(entries, captions.with_head(captions.over_seeds(points), points))
    page.name_ticks([axes], [dict(enumerate(look.label for look in looks.values()))])
    page.describe(
        looks,
        "Omega_base, Omega_new and Omega_all (Kemker et al. 2018): accuracy on the "
        "base set, on the newest session and on all sessions so far, means over the "
        "sessions from the second on; the first and the last are shares of the "
        "accuracy of joint training, the dashed line; one that is the same for all "
        "methods is left out",
        captions.over_seeds(points),
    )
    return page.fit([axes], ("", r"$\Omega$"), height=1.8)


def _omegas(tables: StudyTables, page: Page) -> dict[str, pd.DataFrame]:
    """Return the rows of each Omega that differs between learners, by its name."""
    all_rows = {name: tables.metric("kemker", name) for name in SHADES}
    # A group with a bar missing would look like an Omega of 0.
    learners = set.intersection(*(set(rows.index) for rows in all_rows.values()))
    looks = [*page.appearances(learners)]
    omegas = {}
    for name, rows in all_rows.items():
        # An Omega that is the same for all learners says nothing of them.
        if differ(rows["mean"][looks]):
            omegas[name] = rows.loc[looks]
    return omegas


def _draw_bars(axes: Axes, x: ArrayLike, rows: pd.DataFrame, color: str) -> None:
    """Draw a bar for each learner, with its 95 % interval over seeds."""
    errors = half_widths(rows)
    axes.bar(
        x,
        rows["mean"],
        _BAR,
        # Without any interval, matplotlib would still draw the caps.
        yerr=errors if errors.notna().any() else None,
        color=color,
        ecolor="k",
        error_kw={"elinewidth": 0.9, "capthick": 0.9},
        **_EDGE,
    )
