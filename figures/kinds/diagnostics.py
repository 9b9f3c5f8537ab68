"""Dead units, effective rank and similarity of each layer, without any readout.

x: the layer, by depth; y: for the network after all tasks, from diagnostics.csv: the
share of units that never change, the effective rank as a share of the values examined,
and the similarity (debiased linear CKA) to the same layer of the untrained and of the
joint network; a line for each method.

The panels show the joint and the untrained network, too. A layer with more dead units
or a lower rank than both has lost room for features. A layer has hardly learned if it
is still similar to the untrained network while the joint network's layer is not.
"""

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables, continual
from probe.tables.schemas import CONTROLS
from probe.tables.summary import seed_means
from probe.tables.table_file import where

QUESTION = "How did the features themselves change?"
NEEDS = "a method with diagnostics of two layers"
TABLES = ("diagnostics", "learners")

_PANELS = {
    "dead": ("Dead units (%)", 100),
    "rank": ("Rank (% of values)", 100),
    "cka.untrained": ("CKA to untrained", 1),
    "cka.offline": ("CKA to joint", 1),
}
"""Title and largest value of the panel of each metric."""


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per metric with a line per learner and control over L layers.

    Bars are 95 % intervals over seeds.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if there are fewer than two layers.
    """
    rows = tables.diagnostics
    learners = continual(rows)
    # The name of the layer at each depth.
    features = {}
    for depth, names in rows.groupby("depth")["feature"].unique().items():
        # At one depth, architectures have layers of different names.
        features[depth] = names[0] if len(names) == 1 else str(depth)
    if tables.crowded or not learners or len(features) < 2:
        return None
    means = _means(rows)
    looks = page.appearances(rows["learner"].unique())
    metrics = [metric for metric in _PANELS if metric in set(means["metric"])]
    most = 2 if len(features) > 5 else 4
    grid = page.panels([_PANELS[metric][0] for metric in metrics], most, share_y=False)
    for axes, metric in zip(grid, metrics, strict=True):
        _, scale = _PANELS[metric]
        rows_of = dict(list(where(means, metric=metric).groupby("learner")))
        lines.plot_dodged(axes, looks, rows_of, "depth", scale=scale)
        # The full range, and all bars.
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -0.04 * scale), max(high, 1.04 * scale))
    page.legend(looks.values(), captions.over_seeds(means))
    page.name_layers(grid, [features] * len(grid))
    page.describe(
        learners,
        "Diagnostics of each layer of the network that has learned all tasks, on the "
        "test data: share of dead units, which never change; effective rank as a "
        "share of values; debiased linear CKA to the same layer of the untrained and "
        "of the joint network",
        captions.over_seeds(means),
    )
    return page.fit(grid, ("Layer, by depth", ""), height=1.4)


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the means over seeds after the last task by metric, learner and depth."""
    is_last = rows["tasks_seen"] == rows["tasks_seen"].max()
    rows = rows[is_last | rows["learner"].isin(CONTROLS)]
    layer = ["learner", "depth", "order", "seed"]
    # The rank is a share of the values examined, `width`; tables from before it was
    # written examined as many as there are units.
    width = "width" if "width" in set(rows["metric"]) else "units"
    widths = where(rows, metric=width)[[*layer, "value"]]
    rows = rows.merge(widths, on=layer, how="left", suffixes=("", "_width"))
    is_rank = rows["metric"] == "rank"
    rows["value"] = rows["value"].where(~is_rank, rows["value"] / rows["value_width"])
    means = seed_means(where(rows, metric=_PANELS), "metric", "learner", "depth")
    return means.sort_values(["learner", "depth"])
