"""PRA against feature: how well all tasks can still be learned on what each layer kept.

x: the feature up to which the network was held fixed, by depth; y: Partial Retrain Accuracy in %,
from summary.csv; a line for each learner, a dashed one for offline training (Murata et al. 2020,
figure 1).

From the left, where little is held fixed and almost all is retrained, to the right, where the
model is as it was trained. What a learner's features kept lies between two lines, from layers.csv:
the ceiling, which is the same behind the offline network's features, and the floor, behind those of
a network that was never trained. Where its line leaves the ceiling its layers begin to lack what
the tasks need; where floor and ceiling meet, what they kept cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, layout, lines
from figures.appearance import Appearance, Appearances
from figures.networks import Network, networks
from figures.pages.page import HOUSE, Page, on_page
from figures.style import MANY
from figures.tables import LEVELS, Tables, continual
from probe.metrics.murata import RETRAIN
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import LayerRow, SummaryRow

_BY_DEPTH = {
    "ceiling": (OFFLINE, "Ceiling (offline)"),
    "floor": (UNTRAINED, "Floor (untrained)"),
}
"""What is drawn beside the learners, by its name in layers.csv: as whom, and its name in print."""

Layers = dict[tuple[str, str], dict[str, LayerRow]]
"""Rows of layers.csv by learner and quantity, then by feature."""

NEEDS = "a learner behind two features or more"
"""What has to be there for anything to be drawn."""

TABLES = ("summary", "learners", "layers", "starts")
ORDER = 1


def names(tables: Tables) -> list[str]:
    """Return the learners of which a PRA is known."""
    return list(dict.fromkeys(row.learner for row in _drawn(tables)[0]))


def _drawn(tables: Tables) -> tuple[list[SummaryRow], list[Network], list[str]]:
    """Return every PRA, the networks that are drawn, and the learners that train these."""
    pra = [row for row in tables.summary if row.measure == "pra"]
    drawn = [each for each in networks(pra) if len(each.features) > 1]
    return pra, drawn, [name for name in continual(pra) if any(name in n.learners for n in drawn)]


@on_page
def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one line per continual learner over L features, between floor and ceiling.

    Bars and bands are the 95 % intervals of layers.csv; where it has none for some learner, one
    standard deviation over seeds either way. A ring is where a learner's forgetting starts.

    Without a ceiling Offline is a dashed level at its one value, which is the same at every feature
    (Murata 2020, figure 1), as all of its network is trained on all tasks. Learners with networks
    of their own have panels of their own, in which that level is still that of the study's network.
    Returns None without a continual learner, and where nothing but the output was looked at.
    """
    pra, drawn, learners = _drawn(tables)
    if tables.crowded or not drawn:
        return None
    appearances = page.looks([*names(tables), *LEVELS])
    layers = _layers(tables)
    bars = _with_intervals(layers, learners)
    wide = max(len(each.features) for each in drawn) > 8 or len(learners) > MANY
    alone = len(drawn) == 1
    titles = [labels.listed(appearances[name].label for name in each.learners) for each in drawn]
    figure, grid = page.panels([""] if alone else titles, most=4, wide=wide or not alone)
    keys: dict[str, Line2D] = {}
    for axes, each in zip(grid, drawn, strict=True):
        keys |= _plot_levels(axes, appearances, each, layers, pra, bands=bool(bars))
        places = _plot_network(axes, appearances, each, pra, layers if bars else {})
        keys |= _mark_starts(axes, tables, places)
    said = labels.with_interval(bars) if bars else labels.over_seeds(pra)
    page.legend(figure, [*(appearances[name] for name in learners), *keys.values()], said)
    # After the legend, whose height has to be known before names can be seen to touch.
    for axes, each in zip(grid, drawn, strict=True):
        features = labels.shortened(list(each.features.values()))
        layout.name_ticks(figure, axes, list(each.features), features)
    sides = ("Feature held fixed, by depth", "Partial Retrain Accuracy (%)")
    page.fit(figure, grid, sides, height=2.0 if alone else 1.7)
    return figure


def caption(tables: Tables, page: Page = HOUSE) -> str:
    """Say what is drawn, of which data, network and learners, and what its marks are."""
    pra, _, learners = _drawn(tables)
    bars = _with_intervals(_layers(tables), learners)
    points = (
        f"{labels.means_are(bars)}; bars and bands are 95 % intervals, which cover seeds and the "
        f"finite test set"
        if bars
        else labels.points_are([row for row in pra if row.learner in learners])
    )
    return labels.caption(
        "Partial Retrain Accuracy by feature, in order of depth",
        "The network that has learned all tasks is held fixed up to the feature, all after it is "
        "retrained on all tasks at once, and tested on all tasks; at the last feature it is the "
        "network as it was trained",
        labels.learners_named([page.label(name) for name in learners]),
        points,
        _levels_said(tables, pra),
        labels.measured_on(tables.rows),
    )


def _levels_said(tables: Tables, pra: Sequence[SummaryRow]) -> str:
    """Say what learners are compared with, as far as it is drawn."""
    quantities = {row.quantity for row in tables.layers if row.readout in ("", RETRAIN)}
    said = []
    if "ceiling" in quantities:
        said.append(
            "Ceiling: the same behind the features of an offline network, trained on all at once"
        )
    elif any(row.learner == OFFLINE for row in pra):
        said.append("Dashed line: a network trained on all tasks at once")
    if "floor" in quantities:
        said.append("Floor: the same behind the features of a network that was never trained")
    if "chance" in quantities:
        said.append("Chance: what guessing gives")
    margins = [row.margin for row in tables.starts if row.readout == RETRAIN and row.feature]
    if margins:
        said.append(
            f"A ring marks where forgetting starts: the first feature that lacks more than "
            f"{100 * margins[0]:g} % of accuracy against the ceiling, with 95 % confidence"
        )
    return ". ".join(said)


def _layers(tables: Tables) -> Layers:
    """Return what was measured of all tasks behind features, when all else was retrained."""
    found: Layers = {}
    for row in tables.layers:
        if row.readout in ("", RETRAIN) and row.place is None and not math.isnan(row.value):
            found.setdefault((row.learner, row.quantity), {})[row.feature] = row
    return found


def _with_intervals(layers: Layers, learners: Sequence[str]) -> list[LayerRow]:
    """Return the accuracies whose intervals are the bars, none unless all learners have some."""
    rows = [row for name in learners for row in layers.get((name, "accuracy"), {}).values()]
    known = {row.learner for row in rows if not math.isnan(row.low)}
    # All bars of a figure are of one kind, or none could be read.
    return rows if known == set(learners) else []


def _plot_network(
    axes: Axes,
    appearances: Appearances,
    network: Network,
    pra: Sequence[SummaryRow],
    layers: Layers,
) -> dict[tuple[str, str], tuple[float, float]]:
    """Draw a line for each learner of a network, slightly beside each other.

    layers: whose intervals are the bars; none = standard deviations. Returns where each learner's
    features are drawn.
    """
    places = {}
    offsets = lines.dodges(len(network.learners))
    for name, offset in zip(network.learners, offsets, strict=True):
        points = sorted((row for row in pra if row.learner == name), key=attrgetter("depth"))
        x = [row.depth + offset for row in points]
        own = layers.get((name, "accuracy"), {})
        ends = []
        if layers:
            found = [own.get(row.feature) for row in points]
            ends = [(row.low, row.high) if row else (math.nan, math.nan) for row in found]
            # Where a bar is from there, so is its middle.
            pairs = zip(points, found, strict=True)
            points = [replace(row, mean=at.value) if at else row for row, at in pairs]
        lines.plot_means(axes, appearances[name], x, points, intervals=ends)
        for at, row in zip(x, points, strict=True):
            places[name, row.feature] = at, 100 * row.mean
    axes.set_xlim(min(network.features) - 0.4, max(network.features) + 0.4)
    return places


def _mark_starts(
    axes: Axes, tables: Tables, places: dict[tuple[str, str], tuple[float, float]]
) -> dict[str, Line2D]:
    """Draw a ring where the forgetting of a learner starts; return the legend's entry by name."""
    label = "Forgetting starts"
    found = {}
    for row in tables.starts:
        at = places.get((row.learner, row.feature))
        if row.readout == RETRAIN and at:
            (ring,) = axes.plot(*at, "o", ms=9, mfc="none", mec="black", mew=0.9, label=label)
            found[label] = ring
    return found


def _plot_levels(
    axes: Axes,
    appearances: Appearances,
    network: Network,
    layers: Layers,
    pra: Sequence[SummaryRow],
    *,
    bands: bool,
) -> dict[str, Line2D]:
    """Draw what a network's learners are compared with; return the legend's entries by name.

    bands: whether floor and ceiling have the band of their intervals.
    """
    found = {}
    for quantity, (drawn_as, label) in _BY_DEPTH.items():
        own = (layers.get((name, quantity), {}) for name in network.learners)
        rows = sorted(next(filter(None, own), {}).values(), key=attrgetter("depth"))
        if rows:
            found[label] = _plot_level_by_depth(axes, appearances[drawn_as], rows, label, bands)
    # It has a row at the output at least; should there be others, the deepest is the model itself.
    offline = max((r for r in pra if r.learner == OFFLINE), key=attrgetter("depth"), default=None)
    if offline and _BY_DEPTH["ceiling"][1] not in found:
        look = appearances[OFFLINE]
        found[look.label] = _plot_level(axes, look, offline)
    by_chance = (layers.get((name, "chance"), {}) for name in network.learners)
    for row in list(next(filter(None, by_chance), {}).values())[:1]:
        found["Chance"] = axes.axhline(100 * row.value, color="0.6", lw=0.8, label="Chance")
    return found


def _plot_level_by_depth(
    axes: Axes, appearance: Appearance, rows: Sequence[LayerRow], label: str, band: bool
) -> Line2D:
    """Draw a level that has a value for each feature, with the band of its intervals or without."""
    x, color = [row.depth for row in rows], appearance.color
    (line,) = axes.plot(
        x, [100 * row.value for row in rows], color=color, ls=appearance.line, label=label
    )
    if band:
        low, high = [100 * row.low for row in rows], [100 * row.high for row in rows]
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    return line


def _plot_level(axes: Axes, appearance: Appearance, row: SummaryRow) -> Line2D:
    """Draw a level and, of several seeds, the band around it; return the legend's entry.

    row: the PRA of offline training, a fraction.
    """
    level = axes.axhline(
        100 * row.mean, color=appearance.color, linestyle=appearance.line, label=appearance.label
    )
    if row.seeds > 1:
        low, high = 100 * (row.mean - row.std), 100 * (row.mean + row.std)
        axes.axhspan(low, high, color=appearance.color, alpha=0.15, linewidth=0)
    return level
