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
from itertools import chain

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, lines
from figures.appearance import Appearance, Appearances
from figures.page import Page
from figures.style import MANY
from figures.tables import FeatureByDepth, StudyTables, architectures, continual
from probe.analysis.intervals import half_width
from probe.metrics.murata import RETRAIN
from probe.tables.schemas import CONTROLS, OFFLINE, UNTRAINED
from probe.tables.table_file import where

# The controls by their name in layers.csv.
_CONTROLS = {"ceiling": OFFLINE, "floor": UNTRAINED}

QUESTION = "What can retraining still reach from each layer?"
NEEDS = "a method with two layers or more, measured by the readout retrain"
TABLES = ("summary", "learners", "layers")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one line per continual learner over L features, between untrained and joint.

    Bars are the 95 % intervals of layers.csv, or of the seeds only if some learner has
    none there.

    Without joint layers, joint is a dashed line at the same value for every feature,
    since the whole network is trained on all tasks (Murata 2020, figure 1). Each
    architecture has a panel; the dashed line is always that of the study's network.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if there is no continual learner, or no feature besides the
        output.
    """
    shown = _after_retraining(tables)
    # Features and learners of each architecture with more than the output.
    drawn = [pair for pair in architectures(shown.summary) if len(pair[0]) > 1]
    if tables.crowded or not drawn:
        return None
    in_panels = list(chain(*(names for _, names in drawn)))
    learners = continual(where(shown.summary, learner=in_panels))
    bars = _bars(shown.layers, learners)
    looks = page.appearances([*learners, *CONTROLS])
    # A panel for each architecture: its controls, then its learners.
    grid = _panels(page, drawn)
    entries: dict[str, lines.Entry] = {name: looks[name] for name in learners}
    for axes, (features, names) in zip(grid, drawn, strict=True):
        axes.set_xlim(min(features) - 0.4, max(features) + 0.4)
        entries |= _plot_controls(axes, looks, names, shown)
        _plot_learners(axes, looks, names, shown, bars)
    means = bars if len(bars) else where(shown.summary, learner=learners)
    page.legend(entries.values(), captions.over_seeds(means))
    # After the legend, whose height has to be known before names can be seen to touch.
    page.name_layers(grid, [features for features, _ in drawn])
    page.describe(
        learners,
        *_sentences(shown, means),
        readouts=[RETRAIN],
    )
    return page.fit(
        grid,
        ("Layer held fixed, by depth", "Partial Retrain Accuracy (%)"),
        height=2.0 if len(drawn) == 1 else 1.7,
    )


def _panels(
    page: Page, drawn: Sequence[tuple[FeatureByDepth, list[str]]]
) -> list[Axes]:
    """Begin a panel for the features and learners of each architecture."""
    if len(drawn) > 1:
        return page.panels([page.listed(names) for _, names in drawn], most=4)
    ((features, learners),) = drawn
    return page.panels([""], wide=len(features) > 8 or len(learners) > MANY)


def _after_retraining(tables: StudyTables) -> StudyTables:
    """Return the tables with only PRA, and layers only after retraining, on all tasks."""
    layers = where(tables.layers, readout=["", RETRAIN], task_position=None)
    return replace(
        tables,
        summary=where(tables.summary, metric="pra"),
        layers=layers.dropna(subset="value"),
    )


def _bars(layers: pd.DataFrame, learners: Sequence[str]) -> pd.DataFrame:
    """Return the accuracies of layers with intervals, or no rows unless all learners have some.

    Bars of two kinds in a figure could not be told apart.
    """
    bars = where(layers, quantity="accuracy", learner=learners)
    with_interval = set(bars["learner"][bars["low"].notna()])
    return bars if with_interval == set(learners) else bars[:0]


def _sentences(shown: StudyTables, means: pd.DataFrame) -> Iterator[str]:
    """Yield the sentences of the caption on the means that are drawn."""
    yield "Partial Retrain Accuracy by layer, in order of depth"
    yield (
        "The network that has learned all tasks is held fixed up to the layer, "
        "everything downstream is retrained on all tasks at once, and the network is "
        "tested on all tasks; at the last layer it is the network as trained"
    )
    yield captions.over_seeds(means)
    quantities = set(shown.layers["quantity"])
    if "ceiling" in quantities or OFFLINE in set(shown.summary["learner"]):
        yield "Joint (dashed): a network trained on all tasks at once"
    if {"ceiling", "floor"} <= quantities:
        yield "Band: the room between untrained and joint"
    if "chance" in quantities:
        yield "Chance: accuracy of guessing"


def _plot_learners(
    axes: Axes,
    looks: Appearances,
    learners: Sequence[str],
    shown: StudyTables,
    bars: pd.DataFrame,
) -> None:
    """Draw a line for each learner; points without an interval are taken from the summary."""
    for name, offset in zip(learners, lines.dodges(len(learners)), strict=True):
        rows = where(shown.summary, learner=name).sort_values("depth", kind="stable")
        if len(bars):
            # No bar where there is no interval: one of another kind would be taken for it.
            ends = where(bars, learner=name)[["feature", "value", "low", "high"]]
            rows = rows.merge(ends, on="feature", how="left")
            rows["value"] = rows["value"].fillna(rows["mean"])
        lines.plot_means(axes, looks[name], rows["depth"] + offset, rows)


def _plot_controls(
    axes: Axes, looks: Appearances, learners: Sequence[str], shown: StudyTables
) -> dict[str, Line2D]:
    """Draw the controls of an architecture; return their legend entries by name."""
    keys = {}
    percents = {}
    for quantity, name in _CONTROLS.items():
        rows = _of_first(learners, quantity, shown)
        look = looks[name]
        if len(rows):
            percents[quantity] = 100 * rows.set_index("depth")["value"]
            (keys[look.label],) = axes.plot(
                percents[quantity],
                color=look.color,
                ls=look.line,
                lw=0.8,
                label=look.label,
            )
    # The room between floor and ceiling, if both are known.
    if len(percents) == 2:
        room = pd.DataFrame(percents).dropna()
        axes.fill_between(
            room.index,
            room["floor"],
            room["ceiling"],
            color="0.93",
            lw=0,
            zorder=0,
        )
    if "ceiling" not in percents:
        keys |= _plot_offline(axes, looks[OFFLINE], shown.summary)
    # One line at most, the same for all layers.
    for chance in _of_first(learners, "chance", shown)["value"][:1]:
        keys["Chance"] = axes.axhline(100 * chance, color="0.6", lw=0.8, label="Chance")
    return keys


def _of_first(
    learners: Sequence[str], quantity: str, shown: StudyTables
) -> pd.DataFrame:
    """Return a quantity of layers by depth, from the first learner that has it.

    Learners of one architecture share their controls.
    """
    rows = where(shown.layers, quantity=quantity, learner=learners)
    first = [name for name in learners if name in set(rows["learner"])][:1]
    return where(rows, learner=first).sort_values("depth", kind="stable")


def _plot_offline(
    axes: Axes, look: Appearance, summary: pd.DataFrame
) -> dict[str, Line2D]:
    """Draw the accuracy of the offline network over all layers; return its legend entry."""
    # Its deepest row is the model itself.
    keys = {}
    for row in where(summary, learner=OFFLINE).sort_values("depth")[-1:].itertuples():
        mean = 100 * row.mean
        line = axes.axhline(mean, color=look.color, ls=look.line, label=look.label)
        keys[look.label] = line
        if row.seeds > 1:
            half = 100 * half_width(row.std, row.seeds)
            axes.axhspan(
                max(mean - half, 0),
                min(mean + half, 100),
                color=look.color,
                alpha=0.15,
                linewidth=0,
            )
    return keys
