"""The answer: what the change of each layer accounts for, and what is still there.

x: left, points of accuracy (of 100) that were forgotten, from causes.csv; right,
accuracy of a readout in %, from layers.csv; y: the layer, from input to output; a pair
of panels for each learner. Left, bars with 95 % intervals add up to what was forgotten.
Right, a dot is what is still there, a band goes from an untrained network to one that
was trained on all tasks at once, and a tick is the accuracy right after each task, where
some of this was never learned.

A bar far to the right and a dot far to the right agree where a readout learns its way
around a changed layer: the layer cost points, and still holds the tasks.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from figures import captions, style
from figures.lines import Entry, name_rows
from figures.page import Page
from figures.tables import StudyTables
from probe.answers.record import Answer, LayerLine
from probe.answers.study import answers
from probe.answers.text import meanings
from probe.tables.layer_text import points, word_of

QUESTION = "Which layer forgot what?"
NEEDS = "a method whose layers were measured"
TABLES = ("layers", "causes", "measurements")

_COST = "#D55E00"
_HELD = "#0072B2"
_ROW = 0.2  # inches: height of a row
_band = partial(Line2D, color="0.82", linewidth=7, solid_capstyle="butt", zorder=1)
_dot = partial(Line2D, [], [], color=_HELD, marker="o", linestyle="")
_KEYS: list[Entry] = [
    Patch(color=_COST, alpha=0.6, label="points its change accounts for"),
    _dot(label="still there"),
    _dot(markerfacecolor="white", label="below untrained"),
    _band([], [], label="untrained to joint"),
    Line2D([], [], color="0.3", marker="|", linestyle="", label="right after the task"),
]


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a pair of panels per continual learner, with a row for each of L layers.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no layers were measured.
    """
    names = ("layers", "causes", "measurements", "statements", "notes")
    shown = answers({name: getattr(tables, name) for name in names})
    if not shown or (tables.crowded and len(shown) > style.MANY):
        return None
    has_causes = any(answer.has_causes for answer in shown)
    titles = []
    for answer in shown:
        title = _title(answer, page)
        titles += [title, "Accuracy (%)"] if has_causes else [title]
    each = 2 if has_causes else 1
    across = each * page.across(2) if len(shown) > 1 else each
    (grid,) = page.blocks([titles], across, wide=len(shown) > 1, share_y=False)
    for k, answer in enumerate(shown):
        panels = grid[each * k : each * (k + 1)]
        _name_layers(panels, answer)
        if has_causes:
            _draw_costs(panels[0], answer.layers)
        _draw_held(panels[-1], answer.layers)
    if has_causes:
        # Not by `sharex`: axes of a user may share theirs with others already.
        costs = grid[::2]
        ends = [axes.get_xlim() for axes in costs]
        for axes in costs:
            axes.set_xlim(np.min(ends), np.max(ends))
    page.legend(_KEYS if has_causes else _KEYS[1:], "Lines on bars are 95 % intervals")
    _describe(page, shown)
    most = max(len(answer.layers) for answer in shown)
    return page.fit(grid, ("", ""), height=page.scale * _ROW * most)


def _title(answer: Answer, page: Page) -> str:
    """Return the name of the method, and what it forgot."""
    name = page.display_name(answer.method)
    if answer.forgotten is None:
        return name
    return f"{name}: {points(answer.forgotten.value)} points forgotten"


def _name_layers(panels: Sequence[Axes], answer: Answer) -> None:
    """Give the panels of a method a row for each layer, named at the left."""
    names = captions.shortened([line.layer for line in answer.layers])
    for axes in panels:
        name_rows(axes, names)
        names = [""] * len(names)
        axes.grid(visible=True, axis="x")
        axes.spines["left"].set_visible(False)


def _draw_costs(axes: Axes, layers: Sequence[LayerLine]) -> None:
    """Draw a bar with its interval, and the verdict, for each layer with a cost."""
    axes.axvline(0, color="0.3", linewidth=0.8, zorder=0.9)
    for y, line in enumerate(layers):
        if line.cost is None:
            continue
        value = 100 * line.cost.value
        ends = [[value - 100 * line.cost.low], [100 * line.cost.high - value]]
        axes.barh(y, value, height=0.7, color=_COST, alpha=0.6, linewidth=0)
        axes.errorbar(
            value,
            y,
            xerr=np.maximum(np.nan_to_num(ends), 0),
            color="0.15",
            elinewidth=0.9,
            capsize=1.5,
        )
        axes.text(
            1.02,
            y,
            word_of(line.verdict),
            transform=axes.get_yaxis_transform(),
            size=style.digits_size(),
            va="center_baseline",
            weight="bold" if line.verdict == "costs" else "normal",
        )


def _draw_held(axes: Axes, layers: Sequence[LayerLine]) -> None:
    """Draw a band from untrained to joint, and what was and is there, for each layer."""
    axes.set_xlim(-3, 103)
    axes.set_xticks([0, 50, 100])
    for y, line in enumerate(layers):
        if line.untrained is not None and line.joint is not None:
            ends = [100 * line.untrained, 100 * line.joint]
            axes.add_line(_band(ends, [y, y]))
            if line.never_learned:
                learned = 100 * (line.joint - line.never_learned.value)
                axes.plot(learned, y, color="0.3", marker="|", markersize=7)
        if line.held is not None:
            fill = "white" if line.below_untrained else _HELD
            axes.plot(
                100 * line.held.value,
                y,
                color=_HELD,
                marker="o",
                markersize=4,
                markerfacecolor=fill,
            )


def _describe(page: Page, shown: Sequence[Answer]) -> None:
    """Describe the panels of answers."""
    lines = [line for answer in shown for line in answer.layers]
    readouts = list(dict.fromkeys(answer.readout for answer in shown if answer.readout))
    page.describe(
        [answer.method for answer in shown],
        "Bars: points forgotten of the earlier tasks that the change of each layer "
        "accounts for; with more classes that compete they add up to what was forgotten",
        "; ".join(meanings({line.verdict for line in lines})),
        f"Dots: accuracy of the readout {captions.together(readouts)} after all tasks, "
        "hollow if it is below that of an untrained network; bands: from there to that of "
        "joint training; ticks: right after the task, where some of this was never learned"
        if readouts
        else "",
        readouts=readouts,
    )
