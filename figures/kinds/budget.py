"""Accuracy by the budget of retraining: whether more epochs would change what a layer shows.

x: multiples of the retraining's epochs; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, and between them the floor and the ceiling.

Lines that are level at the right have converged. Where a line still rises, the layer may hold more
than was read out; where the floor still rises, the share retained depends on the budget.
"""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, lines
from figures.appearance import Appearances
from figures.pages.page import Page
from figures.style import MANY
from figures.tables import CONTROLS, Tables
from probe.metrics.mean_over_seeds import SeedMean
from probe.tables.budget_text import Curve, budget_curves
from probe.tables.matrices import OFFLINE, UNTRAINED

NEEDS = "a layer retrained for two multiples of the epochs (--budget 1,4)"
TABLES = ("layers", "learners")

_CONTROLS = {"ceiling": (OFFLINE, "Ceiling (offline)"), "floor": (UNTRAINED, "Floor (untrained)")}


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn."""
    return list(dict.fromkeys(learner for learner, _ in budget_curves(tables.layers)))


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per feature, a line for each learner over the multiples of the epochs.

    Bars are the 95 % intervals of layers.csv. Returns None where nothing was measured after two.
    """
    curves = budget_curves(tables.layers)
    if tables.crowded or not curves:
        return None
    learners = names(tables)
    looks = page.looks([*learners, *CONTROLS])
    features = list(dict.fromkeys(feature for _, feature in curves))
    titles = labels.shortened(features)
    grid = page.panels(titles, most=4 if len(learners) <= MANY else 2, wide=len(features) > 1)
    keys: dict[str, Line2D] = {}
    for axes, feature in zip(grid, features, strict=True):
        own = {learner: curve for (learner, at), curve in curves.items() if at == feature}
        keys |= _plot_feature(axes, looks, own)
    rows = [row for curve in curves.values() for own in curve.values() for row in own.values()]
    page.legend([*(looks[name] for name in learners), *keys.values()], labels.with_interval(rows))
    multiples = sorted({multiple for curve in curves.values() for multiple in curve})
    for axes in grid:
        page.name_ticks(axes, list(map(math.log2, multiples)), list(map(str, multiples)))
    page.describe(
        tables,
        learners,
        "Accuracy on all tasks after multiples of the retraining's epochs, for each feature",
        "The network that has learned all tasks is held fixed up to the feature, and everything "
        "downstream is retrained on all tasks at once; a line that still rises at the right has "
        "not converged",
        labels.means_are(rows),
        "Ceiling: the same for an offline network, floor: for an untrained one" * bool(keys),
    )
    sides = ("Multiple of the retraining's epochs", "Accuracy on all tasks (%)")
    return page.fit(grid, sides, height=1.6)


def _plot_feature(axes: Axes, looks: Appearances, curves: Mapping[str, Curve]) -> dict[str, Line2D]:
    """Draw the learners of a feature and its controls; return these entries of the legend."""
    for (name, curve), offset in zip(curves.items(), lines.dodges(len(curves)), strict=True):
        own = [(math.log2(k) + offset, found["accuracy"]) for k, found in curve.items()]
        points = [SeedMean(mean=row.value, std=math.nan, seeds=row.seeds) for _, row in own]
        ends = [(row.low, row.high) for _, row in own]
        lines.plot_means(axes, looks[name], [x for x, _ in own], points, intervals=ends)
    found = {}
    for quantity, (control, label) in _CONTROLS.items():
        # The same for every learner of the study's network; others have none.
        each = {
            k: own[quantity] for c in curves.values() for k, own in c.items() if quantity in own
        }
        if each:
            x, y = [math.log2(k) for k in each], [100 * row.value for row in each.values()]
            look = looks[control]
            (found[label],) = axes.plot(x, y, color=look.color, ls=look.line, label=label)
    return found
