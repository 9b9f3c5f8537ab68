"""PRA by feature: accuracy on all tasks that retraining can still reach from each layer.

x: the feature up to which the network was held fixed, by depth; y: Partial Retrain Accuracy in %,
from summary.csv; a line for each learner, a dashed one for offline training (Murata et al. 2020,
figure 1). Below, from layers.csv: the points missing, ceiling minus accuracy. Axes of another
figure have the accuracy alone.

At the left little is held fixed and almost all is retrained, at the right the model is as trained.
A learner's features lie between two controls, from layers.csv: the ceiling, the same for the
offline network's features, and the floor, for those of an untrained network; the band between them
is the room of a layer. A line below the ceiling shows layers that have lost information on the
tasks, or never had it; where floor and ceiling meet, there is nothing to retain.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import labels, layout, lines
from figures.appearance import Appearances
from figures.architectures import Architecture, architectures
from figures.pages.page import Page
from figures.style import MANY
from figures.tables import CONTROLS, Tables, continual
from probe.metrics.murata import RETRAIN
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import FirstLayerRow, LayerRow, SummaryRow

_CONTROLS = {"ceiling": (OFFLINE, "Ceiling (offline)"), "floor": (UNTRAINED, "Floor (untrained)")}
"""Controls by their name in layers.csv: learner that lends its appearance, and name in print."""

LayerTable = dict[tuple[str, str], dict[str, LayerRow]]
"""Rows of layers.csv by learner and quantity, then by feature."""

QUESTION = "What can retraining still reach from each layer?"
NEEDS = "a learner with two features or more, measured by the readout retrain"
TABLES = ("summary", "learners", "layers", "statements", "first_layer")


class _Study(NamedTuple):
    """Measurements of a study.

    pra: of all learners; drawn: the architectures with several features; learners: those that train
    these; layers: see LayerTable; bars: the accuracies by whose intervals bars are drawn; falls:
    the first feature at which each learner falls below the ceiling; unsure: see Tables.
    """

    pra: list[SummaryRow]
    drawn: list[Architecture]
    learners: list[str]
    layers: LayerTable
    bars: list[LayerRow]
    falls: dict[str, str]
    unsure: set[tuple[str, str, str]]


def _study(tables: Tables) -> _Study:
    pra = [row for row in tables.summary if row.metric == "pra"]
    drawn = [each for each in architectures(pra) if len(each.features) > 1]
    learners = [name for name in continual(pra) if any(name in each.learners for each in drawn)]
    layers: LayerTable = {}
    for row in tables.layers:
        # Of all tasks, with everything downstream of a feature retrained.
        if row.readout in ("", RETRAIN) and row.task_position is None and not math.isnan(row.value):
            layers.setdefault((row.learner, row.quantity), {})[row.feature] = row
    bars = [row for name in learners for row in layers.get((name, "accuracy"), {}).values()]
    # All bars of a figure are of one kind, or none could be read.
    known = {row.learner for row in bars if not math.isnan(row.low)}
    bars = bars if known == set(learners) else []
    falls = {row.learner: row.first_confirmed for row in filter(_falls, tables.first_layer)}
    return _Study(pra, drawn, learners, layers, bars, falls, tables.unsure)


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one line per continual learner over L features, between floor and ceiling.

    Bars are the 95 % intervals of layers.csv; where it has none for some learner, one standard
    deviation over seeds either way. A ring is where a learner falls below the ceiling. Where there
    are intervals, and each learner has a ceiling, a panel below shows the points missing, on a
    scale that is linear around 0.

    Without a ceiling Offline is a dashed line at its one value, which is the same at every feature
    (Murata 2020, figure 1), as all of its network is trained on all tasks. Each architecture has a
    panel, in which that line is still that of the study's network. Returns None without a continual
    learner, and where nothing but the output was measured.
    """
    study = _study(tables)
    pra, drawn, learners, bars = study.pra, study.drawn, study.learners, study.bars
    if tables.crowded or not drawn:
        return None
    looks = page.looks([*learners, *CONTROLS])
    wide = max(len(each.features) for each in drawn) > 8 or len(learners) > MANY
    alone = len(drawn) == 1
    titles = [labels.listed(looks[name].label for name in each.learners) for each in drawn]
    # A learner with its own network has no ceiling, and misses no points of it.
    ends = {(name, "missing") for name in learners} <= study.layers.keys()
    below = page.axes is None and bool(study.bars) and ends
    blocks = _panels(page, [""] if alone else titles, wide=wide or not alone, below=below)
    keys: dict[str, Line2D] = {}
    for quantity, block in zip(("accuracy", "missing"), blocks, strict=False):
        for axes, each in zip(block, drawn, strict=True):
            if quantity == "accuracy":
                keys |= _plot_controls(axes, looks, each, study)
            keys |= _plot_learners(axes, looks, each, study, quantity)
    said = labels.with_interval(bars) if bars else labels.over_seeds(pra)
    page.legend([*(looks[name] for name in learners), *keys.values()], said)
    # After the legend, whose height has to be known before names can be seen to touch.
    features = [labels.shortened(list(each.features.values())) for each in drawn]
    # None between the accuracies and what is missing of them.
    shown = [[""] * len(own) for own in features * (len(blocks) - 1)] + features
    grid = [axes for block in blocks for axes in block]
    page.name_ticks(grid, [list(each.features) for each in drawn] * len(blocks), shown)
    points = (
        f"{labels.means_are(bars)}; bars are 95 % intervals, which cover seeds and the finite test "
        f"set"
        if bars
        else labels.points_are([row for row in pra if row.learner in learners])
    )
    page.describe(
        learners,
        "Partial Retrain Accuracy by feature, in order of depth",
        "The network that has learned all tasks is held fixed up to the feature, everything "
        "downstream is retrained on all tasks at once, and the network is tested on all tasks; at "
        "the last feature it is the network as trained",
        points,
        *_controls_said(tables, pra),
        f"Lower panel: the points missing, ceiling minus accuracy; {lines.IN_POINTS}" * below,
        readouts=[RETRAIN],
    )
    sides = ("Feature held fixed, by depth", "" if below else "Partial Retrain Accuracy (%)")
    height = 1.5 if below else 2.0 if alone else 1.7
    return page.fit(grid, sides, height=height)


def _panels(page: Page, titles: Sequence[str], *, wide: bool, below: bool) -> list[list[Axes]]:
    """Return a panel for each architecture, and those of the points missing, if asked for."""
    columns = layout.balanced(len(titles), page.across(4))
    if not below:
        return page.blocks([titles], columns, wide=wide)
    blocks = page.blocks([titles, [""] * len(titles)], columns, wide=wide, share_y="row")
    for label, block in zip(("PRA (%)", "Missing (points)"), blocks, strict=True):
        for first in block[::columns]:
            first.set_ylabel(label)
        for first in block[columns::columns]:
            first.sharey(block[0])
    return blocks


def _controls_said(tables: Tables, pra: Sequence[SummaryRow]) -> Iterator[str]:
    """Name the controls that are drawn."""
    quantities = {row.quantity for row in tables.layers if row.readout in ("", RETRAIN)}
    if "ceiling" in quantities:
        yield "Ceiling (dashed): the same for an offline network, trained on all tasks at once"
    elif any(row.learner == OFFLINE for row in pra):
        yield "Dashed line: a network trained on all tasks at once"
    if "floor" in quantities:
        yield "Floor (dotted): the same for an untrained network"
    if {"ceiling", "floor"} <= quantities:
        yield "Band: the room between floor and ceiling"
    if "chance" in quantities:
        yield "Chance: accuracy of guessing"
    if any(_falls(row) for row in tables.first_layer):
        yield (
            "A ring: from this layer to the output every layer is shown to fall below the ceiling, "
            f"{labels.MARGIN}"
        )
    if any(readout == RETRAIN for _, readout, _ in tables.unsure):
        yield labels.NOT_JUDGED


_MARKS: dict[str, dict[str, Any]] = {
    "Shown below ceiling": {"marker": "o", "ms": 9, "mfc": "none", "mec": "black", "mew": 0.9},
    "Not judged": {"marker": "$*$", "ms": 4, "color": "black", "mew": 0.2, "zorder": 9},
}


def _falls(row: FirstLayerRow) -> bool:
    return (row.statement, row.readout) == ("below_ceiling", RETRAIN) and bool(row.first_confirmed)


def _plot_learners(
    axes: Axes, looks: Appearances, one: Architecture, study: _Study, quantity: str
) -> dict[str, Line2D]:
    """Draw a line for each learner of an architecture; return the legend's entries of marks.

    quantity: `accuracy`, of which points without an interval are from the summary, or `missing`.
    """
    if quantity == "missing":
        lines.scale_points(axes)
    found = {}
    for name, offset in zip(one.learners, lines.dodges(len(one.learners)), strict=True):
        own = study.layers.get((name, quantity), {}) if study.bars else {}
        points = sorted((row for row in study.pra if row.learner == name), key=attrgetter("depth"))
        points = [row for row in points if quantity == "accuracy" or row.feature in own]
        x = [row.depth + offset for row in points]
        # Where there are intervals, a bar of another kind would be taken for one.
        known = [own.get(row.feature, replace(row, std=math.nan) if own else row) for row in points]
        drawn = lines.plot_means(axes, looks[name], x, known)
        for at, row in zip(np.asarray(drawn.get_xydata()), known, strict=True):
            first = study.falls.get(name) == row.feature
            unsure = (name, RETRAIN, row.feature) in study.unsure
            for (label, look), there in zip(_MARKS.items(), (first, unsure), strict=True):
                if there:
                    (found[label],) = axes.plot(*at, ls="", label=label, **look)
    axes.set_xlim(min(one.features) - 0.4, max(one.features) + 0.4)
    return found


def _plot_controls(
    axes: Axes, looks: Appearances, one: Architecture, study: _Study
) -> dict[str, Line2D]:
    """Draw the controls of an architecture; return the legend's entries by name."""

    def of_any_learner(quantity: str) -> list[LayerRow]:
        tables = (study.layers.get((name, quantity), {}) for name in one.learners)
        return sorted(next(filter(None, tables), {}).values(), key=attrgetter("depth"))

    found, edges = {}, []
    for quantity, (name, label) in _CONTROLS.items():
        if rows := of_any_learner(quantity):
            edges.append({row.depth: 100 * row.value for row in rows})
            x, y, look = list(edges[-1]), list(edges[-1].values()), looks[name]
            (found[label],) = axes.plot(x, y, color=look.color, ls=look.line, label=label)
            found[label].set_linewidth(0.8)
    if len(edges) == 2:
        ceiling, floor = edges
        x = [depth for depth in ceiling if depth in floor]
        low, high = ([end[depth] for depth in x] for end in (floor, ceiling))
        axes.fill_between(x, low, high, color="0.93", linewidth=0, zorder=0)
    # It has a row at the output at least; should there be others, the deepest is the model itself.
    alone = (row for row in study.pra if row.learner == OFFLINE)
    offline = max(alone, key=attrgetter("depth"), default=None)
    if offline and _CONTROLS["ceiling"][1] not in found:
        look, mean, std = looks[OFFLINE], 100 * offline.mean, 100 * offline.std
        line = axes.axhline(mean, color=look.color, ls=look.line, label=look.label)
        found[look.label] = line
        if offline.seeds > 1:
            axes.axhspan(mean - std, mean + std, color=look.color, alpha=0.15, linewidth=0)
    for row in of_any_learner("chance")[:1]:
        found["Chance"] = axes.axhline(100 * row.value, color="0.6", lw=0.8, label="Chance")
    return found
