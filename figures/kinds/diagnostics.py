"""Dead units, effective rank and similarity of each layer, without any readout.

x: the layer, by depth; y: of the network after all tasks, from diagnostics.csv, the share of units
that never change, the effective rank as a share of the units, and the similarity (debiased linear
CKA) to the same layer of the untrained and of the offline network; a line for each learner.

The offline and the untrained network are in the panels, too: a layer with more dead units or a
lower rank than both has lost room for features; one as similar to the untrained network as the
offline one is has hardly learned.
"""

from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables, continual
from probe.analysis.intervals import SeedMean, mean_over_seeds
from probe.tables.rows import CONTROLS, grouped

QUESTION = "How did the features themselves change?"
NEEDS = "a learner with diagnostics of two layers"
TABLES = ("diagnostics", "learners")

_PANELS = {
    "dead": ("Dead units (%)", 100),
    "rank": ("Rank (% of units)", 100),
    "cka.untrained": ("CKA to untrained", 1),
    "cka.offline": ("CKA to offline", 1),
}
"""Title and largest value of the panel of each metric."""


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per metric and in it a line per learner and control over L layers.

    Bars are one standard deviation over seeds either way.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None without two layers.
    """
    panels, learners = _means(tables), continual(tables.diagnostics)
    features: dict[int, str] = {}
    for row in sorted(tables.diagnostics, key=lambda row: row.depth):
        # At one depth, networks of different architectures have layers of different names.
        same_name = features.get(row.depth, row.feature) == row.feature
        features[row.depth] = row.feature if same_name else str(row.depth)
    if tables.crowded or not learners or len(features) < 2:
        return None
    looks = page.appearances(row.learner for row in tables.diagnostics)
    most = 2 if len(features) > 5 else 4
    grid = page.panels([_PANELS[name][0] for name in panels], most, share_y=False)
    for axes, (metric, means) in zip(grid, panels.items(), strict=True):
        scale = _PANELS[metric][1]
        lines.plot_dodged(axes, looks, means, scale=scale)
        lines.hold_fractions(axes, scale)
    points = [
        mean for panel in panels.values() for means in panel.values() for mean in means.values()
    ]
    page.legend(looks.values(), captions.over_seeds(points))
    page.name_layers(grid, [features] * len(grid))
    page.describe(
        learners,
        "Diagnostics of each layer of the network that has learned all tasks, on the test data: "
        "share of dead units, which never change; effective rank as a share of the units; debiased "
        "linear CKA to the same layer of the untrained and of the offline network",
        captions.points_are(points),
    )
    return page.fit(grid, ("Layer, by depth", ""), height=1.4)


def _means(tables: StudyTables) -> dict[str, dict[str, dict[int, SeedMean]]]:
    """Return the means over seeds after the last task by metric, learner and depth."""
    last = max((row.tasks_seen for row in tables.diagnostics), default=0)
    rows = [row for row in tables.diagnostics if row.tasks_seen == last or row.learner in CONTROLS]
    units = {(r.learner, r.depth, r.order, r.seed): r.value for r in rows if r.metric == "units"}
    means: dict[str, dict[str, dict[int, SeedMean]]] = {metric: {} for metric in _PANELS}
    for (metric, learner, depth), cell in sorted(
        grouped(rows, "metric", "learner", "depth").items()
    ):
        shares = (
            (r.seed, r.value / (units[learner, depth, r.order, r.seed] if metric == "rank" else 1))
            for r in cell
        )
        if metric in _PANELS and (mean := mean_over_seeds(shares)):
            means[metric].setdefault(learner, {})[depth] = mean
    return {metric: panel for metric, panel in means.items() if panel}
