"""PRA by layer as tasks are learned: when each layer starts to forget.

x: the number of tasks learned, 0 = the network before any training; y: accuracy on all tasks in %,
from measurements.csv, of a readout trained downstream of the layer; a panel for each learner, a
line for each layer, dark for the first by depth and light for the last.

A falling line shows a layer that forgets, a rising one a layer that still learns. The dashed
segments at the right are the ceiling, from the offline network: the distance to them is the
accuracy missing in a layer. The scale is wide near 100 %, where lines of layers lie close, and a
line is thinner the deeper its layer, so that none hides another.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import captions, layer_lines, layout, lines
from figures.appearance import Appearance
from figures.page import Page
from figures.style import MANY
from figures.tables import StudyTables, continual
from probe.analysis.intervals import SeedMean
from probe.tables.rows import CONTROLS, OFFLINE, UNTRAINED
from probe.tables.summary import Layer, pra_by_step

Courses = Mapping[Layer, Mapping[int, SeedMean]]
"""Measurements downstream of each layer, by the number of tasks learned."""

QUESTION = "When does each layer lose accuracy?"
NEEDS = "a layer that was measured after two tasks or more"
TABLES = ("measurements",)

_DASHES = (0, (2, 0.8))


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per continual learner and in it a line per layer over 0..T tasks learned.

    It shows the readout that was measured after most tasks, `linear` if there are several. Bars are
    one standard deviation over seeds either way; they are left out if there are many layers.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None where no layer besides the output was measured after two tasks or more.
    """
    readout = _readout(tables)
    if not readout:
        return None
    courses = pra_by_step(tables.measurements, readout)
    controls = {layer: means for layer, means in courses.items() if layer.learner in CONTROLS}
    drawn = {
        layer: {**controls.get(layer._replace(learner=UNTRAINED), {}), **means}
        for layer, means in courses.items()
        # A single point says nothing of time.
        if len(means) > 1 and layer not in controls
    }
    learners = list(dict.fromkeys(layer.learner for layer in drawn))
    looks = layer_lines.layer_appearances((layer.depth, layer.feature) for layer in drawn)
    if max(len(looks), *map(len, drawn.values())) > layer_lines.MOST_NAMED + 1:
        # Under their bars so many lines, or points, could not be told apart.
        for means in drawn.values():
            means.update({step: replace(mean, std=math.nan) for step, mean in means.items()})
    many = len(learners) > MANY
    grid = page.panels([page.display_name(name) for name in learners], most=4 if many else 3)
    for axes, learner in zip(grid, learners, strict=True):
        of_learner = {layer: means for layer, means in drawn.items() if layer.learner == learner}
        _plot_learner(axes, looks, of_learner, controls)
    lines.widen(grid)
    points = [mean for means in drawn.values() for mean in means.values()]
    ceiling = Line2D([], [], color="0.3", lw=1.4, ls=_DASHES, label="Ceiling (offline)")
    more = [ceiling] if any(layer.learner == OFFLINE for layer in controls) else []
    note = f"{captions.over_seeds(points)}, readout {readout}"
    layer_lines.explain_layers(page, grid, looks, note, more)
    offline = any(row.learner == OFFLINE and row.readout == readout for row in tables.measurements)
    page.describe(
        learners,
        "Accuracy on all tasks downstream of each layer as tasks are learned, from none (0) on",
        f"Readout: {readout}, trained downstream on all tasks at once; the output is as trained",
        lines.WIDENED,
        captions.points_are(points),
        "Dashed: the same for the layers of a network trained on all tasks at once" * offline,
        readouts=[readout],
    )
    axis_labels = ("Tasks learned so far (0: untrained)", "Accuracy on all tasks (%)")
    return page.fit(grid, axis_labels, height=1.3 if many else 1.6)


def _readout(tables: StudyTables) -> str:
    """Return the readout that was measured at most steps, "" if none was at two or more."""
    steps = defaultdict[str, set[int]](set)
    learners = continual(tables.measurements)
    for row in tables.measurements:
        if row.metric == "pra" and row.readout and row.tasks_seen and row.learner in learners:
            steps[row.readout].add(row.tasks_seen)
    most = max(map(len, steps.values()), default=0)
    readouts = [readout for readout in steps if len(steps[readout]) == most > 1]
    return "linear" if "linear" in readouts else next(iter(readouts), "")


def _plot_learner(
    axes: Axes, looks: Mapping[int, Appearance], courses: Courses, controls: Courses
) -> None:
    """Draw the layers of one learner slightly beside each other, and their ceilings."""
    last = max(max(means) for means in courses.values())
    part = max(1, last / 8)  # of the axis, so that ceilings are seen beside many tasks, too
    count = len(courses)
    for (layer, means), offset, width in zip(
        courses.items(), lines.dodges(count, 0.1), lines.widths(count), strict=True
    ):
        look = looks[layer.depth]
        x = [tasks_seen + offset for tasks_seen in means]
        lines.plot_means(axes, look, x, list(means.values())).set_linewidth(width)
        # After all tasks; it may have a row for each step.
        if ceiling := controls.get(layer._replace(learner=OFFLINE)):
            y, x = 100 * ceiling[max(ceiling)].mean, [last + 0.3 * part, last + 0.7 * part]
            axes.plot(x, [y, y], color=look.color, lw=1.4, ls=_DASHES)
    axes.set_xlim(-0.4 * part, last + 0.8 * part)
    axes.set_xticks(layout.ticks(0, last))
