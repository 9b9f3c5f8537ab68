"""Causes of forgetting: what the change of each layer accounts for, beside its readout.

x: points of accuracy (of 100), from causes.csv, over all earlier tasks; y: the layer,
from input to output; a row of panels for each learner. Left, a bar is the share of a
layer, and two marks are its two ends; the verdict that they decide stands at the right
edge. Bars add up to what was forgotten. Right, what a readout of the layer forgot, from
layers.csv.

Where the two marks agree, the bar says what the change cost. A layer may have cost
much, and its readout forgotten little: readouts learn their way around a changed layer.
"""

from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from figures import captions, style
from figures.appearance import Appearance
from figures.lines import Entry, dress
from figures.maps import FIRST
from figures.page import Page
from figures.tables import StudyTables
from probe.answers.study import widest_scope
from probe.tables.layer_text import points
from probe.tables.schemas import CAUSE_VERDICTS
from probe.tables.table_file import where

QUESTION = "Which layer's change caused it?"
NEEDS = "a learner whose networks after each task were put back layer by layer"
TABLES = ("causes", "layers", "measurements")

_SHARE = Patch(color="0.75", label="share: what its change accounts for")
_BROKEN = Appearance("what its change breaks by itself", "#1b1b1b", "^", "-")
_RESTORED = Appearance(
    "what putting only it back returns",
    "#1b1b1b",
    "o",
    "-",
    filled=False,
)
_READOUT = Appearance("what its readout forgot", "0.4", "D", "-")
_KEYS: list[Entry] = [_SHARE, _BROKEN, _RESTORED, _READOUT]
_OFFSET = 0.24  # of a mark from the middle of its row, in rows
_ROW = 0.24  # inches: height of a row
_PAGE = 6.4  # inches: height of all rows on a page
_TITLE = 36  # letters in a line


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a row of panels per continual learner, with a bar and two marks for each of L layers.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no causes were measured.
    """
    causes = where(widest_scope(tables.causes), score="accuracy", task_position=None)
    causes = causes.dropna(subset="value").sort_values("depth", kind="stable")
    learners = list(where(causes, quantity="attributed")["learner"].unique())
    if not learners:
        return None
    # By learner: its causes, and what a readout of its layers forgot.
    causes_of = [where(causes, learner=learner) for learner in learners]
    contents = [_of_readout(where(tables.layers, learner=name)) for name in learners]
    names = map(page.display_name, learners)
    titles = list(map(_titles, causes_of, contents, names))
    # A row of panels for each learner, the right one only where readouts were measured.
    has_readouts = any(map(len, contents))
    columns = 2 if has_readouts and page.max_width >= style.NARROW else 1
    blocks = page.blocks(
        titles,
        columns,
        wide=has_readouts,
        share_y=False,
        fold=False,
    )
    looks = page.appearances(learners)
    counts = []
    for k, panels in enumerate(blocks):
        color = looks[learners[k]].color
        features = _draw_learner(panels, causes_of[k], contents[k], color)
        counts.append(len(features))
        for axes in panels if columns == 1 else panels[:1]:
            axes.set_yticks(range(len(features)), captions.shortened(features))
    # The rows of the learner with the most layers.
    most = max(counts)
    for column in zip_longest(*blocks):
        _align(list(filter(None, column)), most)
    # The legend, the caption, and the height of all panels.
    page.legend(
        _KEYS if has_readouts else _KEYS[:-1],
        "Lines are 95 % intervals, words at the right edge are verdicts",
        joined=False,
    )
    page.describe(learners, *_sentences(causes, pd.concat(contents)))
    grid = list(chain(*blocks))
    row = min(_ROW, _PAGE / (most * len(grid) / columns))
    return page.fit(grid, ("Points of accuracy", ""), height=page.scale * row * most)


def _draw_learner(
    panels: Sequence[Axes], causes: pd.DataFrame, content: pd.DataFrame, color: str
) -> list[str]:
    """Draw a learner's shares at the left, its readout at the right; return the rows' names."""
    features = _draw_shares(panels[0], causes, color)
    rows = content.set_index("feature").reindex(features)
    for axes in panels[1:]:
        _draw_marks(axes, rows, _READOUT, width=0.9)
        axes.set_yticks(range(len(features)), [""] * len(features))
    return features


def _of_readout(layers: pd.DataFrame) -> pd.DataFrame:
    """Return what a readout of each layer forgot of all earlier tasks; the linear one if any."""
    rows = where(layers, quantity="forgotten", task_position=None)
    rows = rows.dropna(subset="value")
    readouts = list(rows["readout"].unique())
    return where(rows, readout=[FIRST] if FIRST in readouts else readouts[:1])


def _titles(causes: pd.DataFrame, content: pd.DataFrame, name: str) -> list[str]:
    """Return the titles of a learner's panels: what was forgotten in all, and the readout."""
    totals = where(causes, quantity=["forgotten", "lost"])
    value_of = totals.set_index("quantity")["value"]
    verb = "forgotten" if "forgotten" in value_of else "lost"
    titles = [f"{name}: {points(value_of[verb])} points {verb}"]
    titles += [f"Forgotten by readout {k}" for k in content["readout"].unique()]
    return [captions.folded(title, _TITLE) for title in titles]


def _draw_shares(axes: Axes, causes: pd.DataFrame, color: str) -> list[str]:
    """Draw bars, marks and verdicts of a learner; return the names of the rows, input first.

    The rows add up to what was forgotten.
    """
    competition = where(causes, quantity="competition").assign(feature="more classes")
    competition = competition[competition["value"] != 0]
    shares = pd.concat([where(causes, quantity="attributed"), competition])
    axes.barh(
        range(len(shares)),
        100 * shares["value"],
        height=0.72,
        color=color,
        alpha=0.3,
        linewidth=0,
    )
    _draw_marks(axes, shares, Appearance("", color, "", "-"), width=1.6)
    names = list(shares["feature"])
    ends = {"broken": (_BROKEN, -_OFFSET), "restored": (_RESTORED, _OFFSET)}
    for quantity, (look, offset) in ends.items():
        rows = where(causes, quantity=quantity).set_index("feature").reindex(names)
        _draw_marks(
            axes,
            rows,
            look,
            width=0.6,
            offset=offset,
        )
    for y, word in enumerate(shares["verdict"]):
        axes.text(
            1.02,
            y,
            word,
            transform=axes.get_yaxis_transform(),
            size=style.digits_size(),
            va="center_baseline",
        )
    return names


def _draw_marks(
    axes: Axes, rows: pd.DataFrame, look: Appearance, width: float, offset: float = 0
) -> None:
    """Draw values with their intervals along x, as lines of that width."""
    values = 100 * rows["value"].to_numpy()
    ends = [values - 100 * rows["low"], 100 * rows["high"] - values]
    drawn = axes.errorbar(
        values,
        np.arange(len(rows)) + offset,
        # matplotlib draws no bar of negative length, as rounding can make one.
        xerr=np.maximum(ends, 0),
        color=look.color,
        elinewidth=width,
        capsize=0,
    )
    dress(drawn.lines[0], look, size=4.2, joined=False)


def _align(panels: Sequence[Axes], most: int) -> None:
    """Give panels one range of points, named below the last, and rows of the same height."""
    for axes in panels:
        axes.axvline(0, color="0.3", linewidth=0.8, zorder=0.9)
    ends = np.array([axes.get_xlim() for axes in panels])
    for axes in panels:
        axes.set_xlim(ends.min(), ends.max())
        axes.set_ylim(most - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelbottom=axes is panels[-1])
        axes.spines["left"].set_visible(False)


def _sentences(causes: pd.DataFrame, contents: pd.DataFrame) -> list[str]:
    """Return the sentences of the caption."""
    shares = where(causes, quantity="attributed")
    words = [word for word in CAUSE_VERDICTS if word in set(shares["verdict"])]
    readouts = ", ".join(contents["readout"].unique())
    right = f"Right: what a readout of the layer forgot ({readouts})" * bool(readouts)
    return [
        "Points of accuracy forgotten of the tasks before the last, over all of them",
        "Bars: the share that the change of each layer accounts for, the Shapley "
        "value of putting it back as it was after the task; with more classes that "
        "compete they add up to what was forgotten",
        "Triangles: what the change of the layer breaks by itself; circles: what "
        "putting only this layer back returns",
        "; ".join(f"{word}: {CAUSE_VERDICTS[word]}" for word in words),
        right,
        captions.over_seeds(shares),
    ]
