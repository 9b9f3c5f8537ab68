"""Accuracy over the sessions: on all of them so far, on the base set and on the newest."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from figures import appearance as looks
from figures import heads, parts, style
from figures import metric_table as metrics
from probe.tables.rows import MetricRow

PANELS = {
    "alpha_all": r"All sessions so far, $\alpha_{\mathrm{all},i}$",
    "alpha_base": r"Base set, $\alpha_{\mathrm{base},i}$",
    "alpha_new": r"Newest session, $\alpha_{\mathrm{new},i}$",
}
"""What each panel shows, by the name of its metric."""


def draw(table: Sequence[MetricRow]) -> Figure | None:
    """Draw alpha_all, alpha_base and alpha_new, a panel each, against the session i = 1..T.

    One line per continual learner (Kemker 2018, figures 2, S2 and S3); all are means over orders
    and seeds. Returns None unless there are two learners and two sessions to compare.
    """
    alphas = {name: _courses(table, name) for name in PANELS}
    learners = list(alphas["alpha_all"])
    T = max(map(len, alphas["alpha_all"].values()), default=0)
    if len(learners) < 2 or T < 2:
        return None
    look = looks.of_learners(learners)
    drawn = [row for courses in alphas.values() for name in learners for row in courses[name]]
    with style.house_style():
        figure, grid = parts.panels(len(PANELS), len(PANELS), style.DOUBLE)
        for axes, (name, title) in zip(grid, PANELS.items(), strict=True):
            for learner in learners:
                course = [row.mean for row in alphas[name][learner]]
                parts.plot_course(axes, look[learner], range(1, len(course) + 1), course)
            axes.set_title(title)
            axes.set_xlim(0.5, T + 0.5)
            axes.set_xticks(parts.ticks(1, T))
        keys = [parts.learner_key(look[name]) for name in learners]
        parts.legend_above(figure, keys, parts.seeds_note(drawn, bars=False))
        parts.fit(figure, grid, ("Session $i$", heads.noted("Accuracy (%)", drawn)), height=1.7)
    return figure


def _courses(table: Sequence[MetricRow], name: str) -> dict[str, list[MetricRow]]:
    """Return the rows name[1], name[2], ... of each learner."""
    courses: dict[str, list[MetricRow]] = {}
    for i in metrics.numbered(table, "kemker", name):
        for learner, row in metrics.by_learner(table, "kemker", f"{name}[{i}]").items():
            courses.setdefault(learner, []).append(row)
    return courses
