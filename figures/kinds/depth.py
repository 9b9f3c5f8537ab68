"""PRA by feature: the accuracy on all tasks that retraining can still reach from each layer.

x: the feature up to which the network was held fixed, by depth; y: Partial Retrain
Accuracy in %, from summary.csv; a line for each learner, a dashed one for offline
training (Murata et al. 2020, figure 1).

At the left, little is held fixed and almost everything is retrained; at the right, the
model is as it was trained. A learner lies between two controls, from layers.csv: the
ceiling, the same accuracy from the features of the offline network, and the floor, that
from the features of an untrained network; the band between them is what a layer can
retain. A line below the ceiling shows layers that have lost information on the tasks,
or never had it; where floor and ceiling meet, there is nothing to retain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, layout, lines
from figures.appearance import Appearances
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, architectures, continual
from probe.analysis.intervals import half_width
from probe.metrics.murata import RETRAIN
from probe.tables.schemas import CONTROLS, OFFLINE, UNTRAINED
from probe.tables.table_file import where

_CONTROLS = {
    "ceiling": (OFFLINE, "Ceiling (offline)"),
    "floor": (UNTRAINED, "Floor (untrained)"),
}
"""Controls by their name in layers.csv: learner that lends its appearance, and name in print."""

QUESTION = "What can retraining still reach from each layer?"
NEEDS = "a learner with two features or more, measured by the readout retrain"
TABLES = ("summary", "learners", "layers")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one line per continual learner over L features, between floor and ceiling.

    Bars are the 95 % intervals of layers.csv, or of the seeds only if some learner has
    none there.

    Without a ceiling, Offline is a dashed line at the same value for every feature,
    since the whole network is trained on all tasks (Murata 2020, figure 1). Each
    architecture has a panel; the dashed line is always that of the study's network.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if there is no continual learner, or no feature besides the
        output.
    """
    pra = where(tables.summary, metric="pra")
    drawn = [
        (features, names) for features, names in architectures(pra) if len(features) > 1
    ]
    learners = [
        name for name in continual(pra) if any(name in names for _, names in drawn)
    ]
    if tables.crowded or not drawn:
        return None
    shown = _shown(tables)
    bars = where(shown.layers, quantity="accuracy", learner=learners)
    # All bars of a figure are of the same kind, or none could be read.
    bars = (
        bars if set(bars["learner"][bars["low"].notna()]) == set(learners) else bars[:0]
    )
    looks = page.appearances([*learners, *CONTROLS])
    wide = max(len(features) for features, _ in drawn) > 8 or len(learners) > MANY
    single = len(drawn) == 1
    titles = [
        captions.listed(looks[name].label for name in names) for _, names in drawn
    ]
    (grid,) = page.blocks(
        [[""] if single else titles],
        layout.balanced(len(titles), page.across(4)),
        wide=wide or not single,
    )
    keys: dict[str, Line2D] = {}
    for axes, (features, names) in zip(grid, drawn, strict=True):
        axes.set_xlim(min(features) - 0.4, max(features) + 0.4)
        keys |= _plot_controls(axes, looks, names, shown)
        _plot_learners(
            axes, {name: looks[name] for name in names}, shown, bars=len(bars) > 0
        )
    page.legend(
        [*(looks[name] for name in learners), *keys.values()],
        captions.over_seeds(bars if len(bars) else pra),
    )
    # After the legend, whose height has to be known before names can be seen to touch.
    page.name_layers(grid, [features for features, _ in drawn])
    page.describe(
        learners,
        "Partial Retrain Accuracy by feature, in order of depth",
        "The network that has learned all tasks is held fixed up to the feature, "
        "everything downstream is retrained on all tasks at once, and the network is "
        "tested on all tasks; at the last feature it is the network as trained",
        captions.over_seeds(bars)
        if len(bars)
        else captions.points_are(where(pra, learner=learners)),
        *_control_sentences(shown),
        readouts=[RETRAIN],
    )
    axis_labels = ("Feature held fixed, by depth", "Partial Retrain Accuracy (%)")
    return page.fit(grid, axis_labels, height=2.0 if single else 1.7)


def _shown(tables: StudyTables) -> StudyTables:
    """Return PRA, and the rows of the layers on all tasks after retraining."""
    layers = where(tables.layers, readout=["", RETRAIN], task_position=None)
    return replace(
        tables,
        summary=where(tables.summary, metric="pra"),
        layers=layers.dropna(subset="value"),
    )


def _control_sentences(shown: StudyTables) -> Iterator[str]:
    """Yield sentences on the controls that are drawn."""
    quantities = set(shown.layers["quantity"])
    if "ceiling" in quantities:
        yield (
            "Ceiling (dashed): the same for an offline network, trained on all tasks "
            "at once"
        )
    elif OFFLINE in set(shown.summary["learner"]):
        yield "Dashed line: a network trained on all tasks at once"
    if "floor" in quantities:
        yield "Floor (dotted): the same for an untrained network"
    if {"ceiling", "floor"} <= quantities:
        yield "Band: the room between floor and ceiling"
    if "chance" in quantities:
        yield "Chance: accuracy of guessing"


def _plot_learners(
    axes: Axes, looks: Appearances, shown: StudyTables, *, bars: bool
) -> None:
    """Draw a line for each learner; points without an interval are taken from the summary."""
    for (name, look), offset in zip(
        looks.items(), lines.dodges(len(looks)), strict=True
    ):
        rows = where(shown.summary, learner=name).sort_values("depth", kind="stable")
        if bars:
            layers = where(shown.layers, quantity="accuracy", learner=name)
            # Where there are intervals, a bar of another kind would be taken for one.
            columns = ["feature", "value", "low", "high"]
            rows = rows.merge(layers[columns], on="feature", how="left")
            rows["value"] = rows["value"].fillna(rows["mean"])
        lines.plot_means(axes, look, rows["depth"] + offset, rows)


def _plot_controls(
    axes: Axes, looks: Appearances, learners: Sequence[str], shown: StudyTables
) -> dict[str, Line2D]:
    """Draw the controls of an architecture; return their legend entries by name."""

    def of_any_learner(quantity: str) -> pd.DataFrame:
        tables = (
            where(shown.layers, quantity=quantity, learner=name) for name in learners
        )
        return next(filter(len, tables), shown.layers[:0]).sort_values(
            "depth", kind="stable"
        )

    keys = {}
    percent = {}
    for quantity, (name, label) in _CONTROLS.items():
        rows = of_any_learner(quantity)
        look = looks[name]
        if len(rows):
            heights = percent[quantity] = 100 * rows.set_index("depth")["value"]
            (keys[label],) = axes.plot(
                heights, color=look.color, ls=look.line, lw=0.8, label=label
            )
    if len(percent) == 2:
        room = pd.DataFrame(percent).dropna()
        axes.fill_between(
            room.index, room["floor"], room["ceiling"], color="0.93", lw=0, zorder=0
        )
    # It has a row at the output at least; should there be others, the deepest is the
    # model itself.
    offline = where(shown.summary, learner=OFFLINE).sort_values("depth")[-1:]
    for row in offline.itertuples() if "ceiling" not in percent else ():
        look = looks[OFFLINE]
        mean = 100 * row.mean
        keys[look.label] = axes.axhline(
            mean, color=look.color, ls=look.line, label=look.label
        )
        if row.seeds > 1:
            half = 100 * half_width(row.std, row.seeds)
            axes.axhspan(
                max(mean - half, 0),
                min(mean + half, 100),
                color=look.color,
                alpha=0.15,
                linewidth=0,
            )
    for chance in of_any_learner("chance")["value"][:1]:
        keys["Chance"] = axes.axhline(100 * chance, color="0.6", lw=0.8, label="Chance")
    return keys
