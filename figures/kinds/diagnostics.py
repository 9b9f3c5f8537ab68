"""Dead units, effective rank and similarity of each layer, without any readout.

x: the layer, by depth; y: of the network after all tasks, from diagnostics.csv, the share of units
that never change, the effective rank as a share of the units, and the similarity (debiased linear
CKA) to the same layer of the untrained and of the offline network; a line for each learner.

The offline and the untrained network are in the panels, too: a layer with more dead units or a
lower rank than both has lost room for features; one as similar to the untrained network as the
offline one is has hardly learned.
"""

from collections import defaultdict
from collections.abc import Mapping

from matplotlib.figure import Figure

from figures import labels, lines
from figures.pages.page import Page
from figures.tables import CONTROLS, Tables
from probe.analysis.intervals import SeedMean, mean_over_seeds
from probe.tables.rows import DiagnosticRow

QUESTION = "How did the features themselves change?"
NEEDS = "a learner with diagnostics of two layers"
TABLES = ("diagnostics", "learners")

_PANELS = {
    "dead": ("Dead units (%)", 100),
    "rank": ("Rank (% of units)", 100),
    "cka.untrained": ("CKA to untrained", 1),
    "cka.offline": ("CKA to offline", 1),
}
"""Title and largest value of the panel of each measure."""

_Means = Mapping[str, Mapping[int, SeedMean]]  # by learner and depth


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn, with the controls."""
    return list(dict.fromkeys(row.learner for row in tables.diagnostics))


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per measure and in it a line per learner and control over L layers.

    Bars are one standard deviation over seeds either way. Returns None without two layers.
    """
    panels = {measure: means for measure in _PANELS if (means := _means(tables, measure))}
    features: dict[int, set[str]] = defaultdict(set)
    for row in sorted(tables.diagnostics, key=lambda row: row.depth):
        features[row.depth].add(row.feature)
    learners = [name for name in names(tables) if name not in CONTROLS]
    if tables.crowded or not panels or not learners or len(features) < 2:
        return None
    looks = page.looks(names(tables))
    wide = len(features) > 5
    grid = page.panels([_PANELS[name][0] for name in panels], 2 if wide else 4, share_y=False)
    for axes, (measure, means) in zip(grid, panels.items(), strict=True):
        most = _PANELS[measure][1]
        for (name, own), offset in zip(means.items(), lines.dodges(len(means)), strict=True):
            x = [depth + offset for depth in own]
            lines.plot_means(axes, looks[name], x, list(own.values()), scale=most)
        lines.hold_fractions(axes, most)
    points = [mean for means in panels.values() for own in means.values() for mean in own.values()]
    page.legend(looks.values(), labels.over_seeds(points))
    # At one depth, networks of different architectures have layers of different names.
    alike = [min(own) if len(own) == 1 else str(k) for k, own in features.items()]
    at, named = list(features), labels.shortened(alike)
    page.name_ticks(grid, [at] * len(grid), [named] * len(grid))
    page.describe(
        tables,
        learners,
        "Diagnostics of each layer of the network that has learned all tasks, on the test data: "
        "share of dead units, which never change; effective rank as a share of the units; debiased "
        "linear CKA to the same layer of the untrained and of the offline network",
        labels.points_are(points),
    )
    return page.fit(grid, ("Layer, by depth", ""), height=1.4)


def _means(tables: Tables, measure: str) -> _Means:
    """Return the means over seeds of a measure after the last task, rank as a share of units."""
    last = max((row.step for row in tables.diagnostics), default=0)
    rows = [row for row in tables.diagnostics if row.step == last or row.learner in CONTROLS]
    units = {_at(row): row.value for row in rows if row.measure == "units"}
    found: dict[str, dict[int, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row.depth):
        if row.measure == measure:
            value = row.value / (units[_at(row)] if measure == "rank" else 1)
            found[row.learner][row.depth].append((row.seed, value))
    means = {
        name: {depth: mean for depth, own in each.items() if (mean := mean_over_seeds(own))}
        for name, each in found.items()
    }
    return {name: means[name] for name in names(tables) if name in means}


def _at(row: DiagnosticRow) -> tuple[str, int, str, int]:
    return row.learner, row.depth, row.order, row.seed
