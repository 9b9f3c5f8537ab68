"""The picture of remedies: all of the table, and nothing else; names that do not overlap."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from figures.lines import MOST_BARRED
from figures.remedies import draw_remedies
from tests.figures import seen

KINDS = [
    "as it is",
    "before",
    "put back",
    "average",
    "head",
    "bias",
    "user",
    "a kind of tomorrow",
]
HOSTILE = [
    "$a$ $b",
    "x" * 300,
    "<b>&amp;",
    "\x1b[2J",
    "a.b " * 40,
    "",
]


def table(count):
    scores = np.random.default_rng(count).random((count, 2))
    rows = pd.DataFrame(scores, columns=["old", "new"])
    for name in ("old", "new"):
        rows[f"{name}_low"] = rows[name] / 2
        rows[f"{name}_high"] = rows[name] ** 0.5
    rows["kind"] = [KINDS[k % len(KINDS)] for k in range(count)]
    rows["remedy"] = [f"{kind}, {k}" for k, kind in enumerate(rows["kind"])]
    ranks = rows["old"].add(rows["new"]).rank(ascending=False)
    rows["rank"] = ranks.astype("Int64")
    is_worse = (scores[:, None] < scores).all(axis=2)
    rows["front"] = ~is_worse.any(axis=1)
    return rows


def markers(axes):
    """Return the points of all markers, from the lowest to the highest."""
    points = np.empty((0, 2))
    for line in axes.lines:
        if line.get_marker() != "None":
            points = np.concatenate([points, seen.points(line)])
    return points[points[:, 1].argsort()]


@pytest.mark.parametrize(
    ("count", "scale"),
    [(1, 100), (9, 1), (MOST_BARRED, 100), (60, 1)],
)
def test_every_remedy_is_drawn_and_nothing_else(count, scale):
    rows = table(count).sort_values("old")
    axes = draw_remedies(rows, is_accuracy=scale == 100)
    expected = scale * rows[["new", "old"]].to_numpy()
    assert markers(axes) == pytest.approx(expected)
    assert axes.get_xlabel().startswith("New examples")
    assert axes.get_ylabel().startswith("Old examples")
    has_bars = count <= MOST_BARRED
    assert len(axes.collections) == 2 * has_bars
    if has_bars:
        across = np.array(axes.collections[0].get_segments())
        ends = scale * rows[["new_low", "new_high"]].to_numpy()
        assert across[:, :, 0] == pytest.approx(ends)
    assert seen.text_faults(axes.figure) == []
    assert seen.hidden_data(axes.figure) == []


@pytest.mark.parametrize("count", [1, 9, 60])
def test_without_new_examples_every_remedy_is_a_row_in_the_order_of_the_table(count):
    rows = table(count).assign(new=np.nan)
    axes = draw_remedies(rows)
    expected = np.transpose([100 * rows["old"], range(count)])
    assert markers(axes) == pytest.approx(expected)
    assert axes.yaxis_inverted()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == list(rows["remedy"])
    assert seen.text_faults(axes.figure) == []


@pytest.mark.parametrize("count", [5, 30, 60])
def test_no_remedy_is_beyond_the_front_and_the_best_are_named(count):
    rows = table(count)
    axes = draw_remedies(rows, is_accuracy=False)
    (front,) = (line for line in axes.lines if line.get_label() == "front")
    x, y = seen.points(front).T
    assert list(x) == sorted(rows.loc[rows["front"], "new"])
    for row in rows.itertuples():
        assert row.old <= y[x >= row.new].max()
    best = rows.nsmallest(3, "rank")["remedy"]
    names = {text.get_text() for text in axes.texts}
    assert {*best} <= names <= {*rows["remedy"], ""}


@pytest.mark.parametrize("new", [0.5, np.nan])
def test_hostile_names_are_written_as_they_are_and_leave_room_for_the_points(new):
    rows = table(6).assign(
        remedy=HOSTILE,
        front=True,
        new=new,
    )
    axes = draw_remedies(rows)
    assert seen.text_faults(axes.figure) == []
    assert axes.get_position().width > 0.3
    texts = (*axes.texts, *axes.get_yticklabels())
    names = {text.get_text() for text in texts}
    assert {r"\$a\$ \$b", "<b>&amp;", r"\x1b[2J"} <= names


def test_axes_of_a_user_are_drawn_with_the_users_settings():
    axes = Figure(layout="constrained").subplots()
    settings = dict(matplotlib.rcParams)
    assert draw_remedies(table(20), axes) is axes
    assert dict(matplotlib.rcParams) == settings
    assert seen.text_faults(axes.figure) == []
