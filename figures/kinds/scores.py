"""CLscore and CLstability under each weighting of the criteria."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, parts, style
from figures import metric_table as metrics
from probe.tables.rows import MetricRow

_PAPER = "diaz_rodriguez"


def draw(table: Sequence[MetricRow]) -> Figure | None:
    """Draw one group per weighting, W1, W2, W3 and a user's own, with one mark per learner.

    CLscore in the first panel; CLstability in the second, where there are two seeds or more
    (Diaz-Rodriguez 2018, table 3). Both in [0, 1], larger is better; a score with a standard
    deviation over seeds has a bar. Returns None without a score.
    """
    weightings = metrics.bracketed(table, _PAPER, "cl_score")
    if not weightings:
        return None
    scores = _of(table, "cl_score", weightings)
    stability = [row for row in _of(table, "cl_stability", weightings) if row.seeds > 1]
    shown = {"CLscore": scores, "CLstability": stability} if stability else {"CLscore": scores}
    learners = style.continual(scores)
    look = looks.of_learners(learners)
    crowded = len(learners) * len(weightings) > 24
    with style.house_style():
        width = style.DOUBLE if crowded or stability else style.SINGLE
        columns = 1 if crowded else len(shown)
        figure, grid = parts.panels(len(shown), columns, width, share_y=False)
        for axes, (name, rows) in zip(grid, shown.items(), strict=True):
            _panel(axes, look, learners, rows, weightings)
            axes.set_title(name)
            parts.name_places(figure, axes, range(len(weightings)), weightings)
        keys = [parts.learner_key(look[name], joined=False) for name in learners]
        parts.legend_above(figure, keys, heads.noted(parts.seeds_note(scores), scores))
        parts.fit(figure, grid, ("Weights of the criteria", ""), height=1.8)
    return figure


def _of(table: Sequence[MetricRow], name: str, weightings: Sequence[str]) -> list[MetricRow]:
    names = [f"{name}[{weighting}]" for weighting in weightings]
    return [row for row in table if row.paper == _PAPER and row.metric in names]


def _panel(
    axes: Axes,
    look: dict[str, looks.Look],
    learners: Sequence[str],
    rows: Sequence[MetricRow],
    weightings: Sequence[str],
) -> None:
    offsets = parts.dodges(len(learners), most=0.15, span=0.8)
    place = {weighting: k for k, weighting in enumerate(weightings)}
    for name, offset in zip(learners, offsets, strict=True):
        own = [row for row in rows if row.learner == name]
        x = [place[row.metric.partition("[")[2][:-1]] + offset for row in own]
        parts.plot_bars(
            axes,
            look[name],
            x,
            [row.mean for row in own],
            y_bars=[row.std for row in own],
            joined=False,
        )
    parts.part_groups(axes, len(weightings))
