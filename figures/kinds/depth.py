"""PRA by feature: accuracy on all tasks that retraining can still reach from each layer.

x: the feature up to which the network was held fixed, by depth; y: Partial Retrain Accuracy in %,
from summary.csv; a line for each learner, a dashed one for offline training (Murata et al. 2020,
figure 1). Below, from layers.csv: the points missing, ceiling minus accuracy. Axes of another
figure have only the accuracy.

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

from figures import captions, layout, lines
from figures.appearance import Appearances
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, architectures, continual
from probe.metrics.murata import RETRAIN
from probe.tables.rows import CONTROLS, OFFLINE, UNTRAINED, FirstLayerRow, LayerRow, SummaryRow

_CONTROLS = {"ceiling": (OFFLINE, "Ceiling (offline)"), "floor": (UNTRAINED, "Floor (untrained)")}
"""Controls by their name in layers.csv: learner that lends its appearance, and name in print."""

_MARKS: dict[str, dict[str, Any]] = {
    "Shown below ceiling": {"marker": "o", "ms": 9, "mfc": "none", "mec": "black", "mew": 0.9},
    "Not judged": {"marker": "$*$", "ms": 4, "color": "black", "mew": 0.2, "zorder": 9},
}

QUESTION = "What can retraining still reach from each layer?"
NEEDS = "a learner with two features or more, measured by the readout retrain"
TABLES = ("summary", "learners", "layers", "statements", "first_layer")


class _Measured(NamedTuple):
    """PRA of all learners; rows of layers.csv by learner and quantity, then by feature.

    `bars` are the accuracies by whose intervals bars are drawn, `first_below` the first feature at
    which each learner falls below the ceiling.
    """

    pra: list[SummaryRow]
    layers: dict[tuple[str, str], dict[str, LayerRow]]
    bars: list[LayerRow]
    first_below: dict[str, str]
    unjudged: set[tuple[str, str, str]]


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one line per continual learner over L features, between floor and ceiling.

    Bars are the 95 % intervals of layers.csv, or one standard deviation over seeds either way if
    some learner has no intervals. A ring marks where a learner falls below the ceiling. If there
    are intervals and every learner has a ceiling, a panel below shows the points missing, on a
    scale that is linear around 0.

    Without a ceiling, Offline is a dashed line at one value, the same at every feature, since the
    whole network is trained on all tasks (Murata 2020, figure 1). Each architecture has a panel;
    that line is always the one of the study's network.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None without a continual learner or without a feature besides the output.
    """
    pra = [row for row in tables.summary if row.metric == "pra"]
    drawn = [(features, names) for features, names in architectures(pra) if len(features) > 1]
    learners = [name for name in continual(pra) if any(name in names for _, names in drawn)]
    if tables.crowded or not drawn:
        return None
    measured = _measured(tables, pra, learners)
    bars = measured.bars
    looks = page.appearances([*learners, *CONTROLS])
    wide = max(len(features) for features, _ in drawn) > 8 or len(learners) > MANY
    single = len(drawn) == 1
    titles = [captions.listed(looks[name].label for name in names) for _, names in drawn]
    # A learner with its own network has no ceiling, and misses no points of it.
    have_ceilings = {(name, "missing") for name in learners} <= measured.layers.keys()
    below = page.axes is None and bool(bars) and have_ceilings
    blocks = _panels(page, [""] if single else titles, wide=wide or not single, below=below)
    keys: dict[str, Line2D] = {}
    for quantity, block in zip(("accuracy", "missing"), blocks, strict=False):
        for axes, (features, names) in zip(block, drawn, strict=True):
            axes.set_xlim(min(features) - 0.4, max(features) + 0.4)
            if quantity == "accuracy":
                keys |= _plot_controls(axes, looks, names, measured)
            keys |= _plot_learners(axes, looks, names, measured, quantity)
    note = captions.with_interval(bars) if bars else captions.over_seeds(pra)
    page.legend([*(looks[name] for name in learners), *keys.values()], note)
    # After the legend, whose height has to be known before names can be seen to touch.
    _name_features(page, blocks, [features for features, _ in drawn])
    page.describe(
        learners,
        "Partial Retrain Accuracy by feature, in order of depth",
        "The network that has learned all tasks is held fixed up to the feature, everything "
        "downstream is retrained on all tasks at once, and the network is tested on all tasks; at "
        "the last feature it is the network as trained",
        f"{captions.means_are(bars)}; bars are 95 % intervals, which cover seeds and the finite "
        f"test set"
        if bars
        else captions.points_are([row for row in pra if row.learner in learners]),
        *_control_sentences(tables, pra),
        f"Lower panel: the points missing, ceiling minus accuracy; {lines.IN_POINTS}" * below,
        readouts=[RETRAIN],
    )
    axis_labels = ("Feature held fixed, by depth", "" if below else "Partial Retrain Accuracy (%)")
    grid = [axes for block in blocks for axes in block]
    return page.fit(grid, axis_labels, height=1.5 if below else 2.0 if single else 1.7)


def _measured(tables: StudyTables, pra: list[SummaryRow], learners: Sequence[str]) -> _Measured:
    layers: dict[tuple[str, str], dict[str, LayerRow]] = {}
    for row in tables.layers:
        # Of all tasks, with everything downstream of a feature retrained.
        if row.readout in ("", RETRAIN) and row.task_position is None and not math.isnan(row.value):
            layers.setdefault((row.learner, row.quantity), {})[row.feature] = row
    bars = [row for name in learners for row in layers.get((name, "accuracy"), {}).values()]
    # All bars of a figure are of one kind, or none could be read.
    if {row.learner for row in bars if not math.isnan(row.low)} != set(learners):
        bars = []
    first_below = {r.learner: r.first_confirmed for r in tables.first_layer if _is_below(r)}
    return _Measured(pra, layers, bars, first_below, tables.unjudged)


def _is_below(row: FirstLayerRow) -> bool:
    return (row.statement, row.readout) == ("below_ceiling", RETRAIN) and bool(row.first_confirmed)


def _name_features(
    page: Page, blocks: Sequence[Sequence[Axes]], features: Sequence[dict[int, str]]
) -> None:
    """Name the features below the panels, but not between the accuracies and what is missing."""
    names = [captions.shortened(list(name_of.values())) for name_of in features]
    empty = [[""] * len(texts) for texts in names * (len(blocks) - 1)]
    grid = [axes for block in blocks for axes in block]
    page.name_ticks(grid, [list(name_of) for name_of in features] * len(blocks), empty + names)


def _panels(page: Page, titles: Sequence[str], *, wide: bool, below: bool) -> list[list[Axes]]:
    """Return a panel for each architecture, and with `below` those of the points missing."""
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


def _control_sentences(tables: StudyTables, pra: Sequence[SummaryRow]) -> Iterator[str]:
    """Name the controls and marks that are drawn."""
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
    if any(map(_is_below, tables.first_layer)):
        yield (
            "A ring: from this layer to the output every layer is shown to fall below the ceiling, "
            f"{captions.MARGIN}"
        )
    if any(readout == RETRAIN for _, readout, _ in tables.unjudged):
        yield captions.NOT_JUDGED


def _plot_learners(
    axes: Axes, looks: Appearances, learners: Sequence[str], measured: _Measured, quantity: str
) -> dict[str, Line2D]:
    """Draw a line for each learner of an architecture; return the legend's entries of marks.

    Of `accuracy`, points without an interval are from the summary; `missing` has only intervals.
    """
    if quantity == "missing":
        lines.scale_points(axes)
    keys = {}
    for name, offset in zip(learners, lines.dodges(len(learners)), strict=True):
        layers = measured.layers.get((name, quantity), {}) if measured.bars else {}
        pra = sorted((r for r in measured.pra if r.learner == name), key=attrgetter("depth"))
        pra = [row for row in pra if quantity == "accuracy" or row.feature in layers]
        # Where there are intervals, a bar of another kind would be taken for one.
        barless = [replace(row, std=math.nan) for row in pra] if layers else pra
        rows = [layers.get(row.feature, row) for row in barless]
        drawn = lines.plot_means(axes, looks[name], [row.depth + offset for row in rows], rows)
        for point, row in zip(np.asarray(drawn.get_xydata()), rows, strict=True):
            first = measured.first_below.get(name) == row.feature
            unjudged = (name, RETRAIN, row.feature) in measured.unjudged
            for (label, look), is_marked in zip(_MARKS.items(), (first, unjudged), strict=True):
                if is_marked:
                    (keys[label],) = axes.plot(*point, ls="", label=label, **look)
    return keys


def _plot_controls(
    axes: Axes, looks: Appearances, learners: Sequence[str], measured: _Measured
) -> dict[str, Line2D]:
    """Draw the controls of an architecture; return the legend's entries by name."""

    def of_any_learner(quantity: str) -> list[LayerRow]:
        tables = (measured.layers.get((name, quantity), {}) for name in learners)
        return sorted(next(filter(None, tables), {}).values(), key=attrgetter("depth"))

    keys, percent = {}, {}
    for quantity, (name, label) in _CONTROLS.items():
        if rows := of_any_learner(quantity):
            percent[quantity] = {row.depth: 100 * row.value for row in rows}
            x, y, look = list(percent[quantity]), list(percent[quantity].values()), looks[name]
            (keys[label],) = axes.plot(x, y, color=look.color, ls=look.line, label=label)
            keys[label].set_linewidth(0.8)
    if len(percent) == 2:
        ceiling, floor = percent["ceiling"], percent["floor"]
        x = [depth for depth in ceiling if depth in floor]
        low, high = ([height[depth] for depth in x] for height in (floor, ceiling))
        axes.fill_between(x, low, high, color="0.93", linewidth=0, zorder=0)
    # It has a row at the output at least; should there be others, the deepest is the model itself.
    offline_rows = (row for row in measured.pra if row.learner == OFFLINE)
    offline = max(offline_rows, key=attrgetter("depth"), default=None)
    if offline and "ceiling" not in percent:
        look, mean, std = looks[OFFLINE], 100 * offline.mean, 100 * offline.std
        line = axes.axhline(mean, color=look.color, ls=look.line, label=look.label)
        keys[look.label] = line
        if offline.seeds > 1:
            axes.axhspan(mean - std, mean + std, color=look.color, alpha=0.15, linewidth=0)
    for row in of_any_learner("chance")[:1]:
        keys["Chance"] = axes.axhline(100 * row.value, color="0.6", lw=0.8, label="Chance")
    return keys
