"""Accuracy over the sessions: on all sessions so far, on the base set and on the newest.

x: the session; y: accuracy in % on the test data that the panel's title names, from
metrics.csv; a line for each learner. After Kemker et al. 2018, figures 2, S2 and S3:
Omega_all, Omega_base and Omega_new are the means of these lines from the second session
on, the first two as shares of the offline learner's accuracy.

The base set, which is learned first, shows retention; the newest session shows new
learning. A learner may be good at one at the expense of the other.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

PANELS = {
    "alpha_all": r"All sessions so far, $\alpha_{\mathrm{all},i}$",
    "alpha_base": r"Base set, $\alpha_{\mathrm{base},i}$",
    "alpha_new": r"Newest session, $\alpha_{\mathrm{new},i}$",
}
"""Titles of the panels from left to right, by the name of the metric."""

QUESTION = "Do learners retain the base set, and learn new sessions?"
NEEDS = "two learners and two sessions"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw alpha_all, alpha_base and alpha_new, a panel each, against the session i = 1..T.

    There is one line per continual learner (Kemker 2018, figures 2, S2 and S3), a mean
    over orders and seeds. The panels share their y axis. If the base falls and the
    newest stays high, a learner gives up old tasks for new ones.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None unless there are two learners and two sessions to compare.
    """
    return courses(
        tables,
        page,
        "kemker",
        PANELS,
        "Accuracy after each session (Kemker et al. 2018): on all sessions so far, on "
        "the base set, which is learned first, and on the newest session",
        "Session $i$",
    )


def courses(
    tables: StudyTables,
    page: Page,
    paper: str,
    panels: Mapping[str, str],
    about: str,
    across: str,
) -> Figure | None:
    """Draw metrics that are measured after each task, a panel each and a line for each learner.

    Args:
        tables: The tables of the study.
        page: The page to draw on.
        paper: The paper of the metrics.
        panels: The titles of the panels, by the metric's name.
        about: The first sentence of the caption.
        across: The label of the x axis.

    Returns:
        The figure, None unless there are two learners and two tasks to compare.
    """
    metrics = [tables.by_number(paper, name) for name in panels]
    # The same tasks in all panels: each metric is measured after every task.
    T = metrics[0]["number"].nunique()
    learners = metrics[0]["learner"].unique()
    if tables.crowded or len(learners) < 2 or T < 2:
        return None
    looks = page.appearances(learners)
    grid = page.panels(list(panels.values()), most=3, fold=False, wide=True)
    for axes, metric in zip(grid, metrics, strict=True):
        means = {name: where(metric, learner=name)["mean"] for name in learners}
        lines.plot_courses(axes, looks, means)
        lines.mark_steps(axes, T)
    points = pd.concat(metrics)
    # No bars: under them the lines of many tasks could not be told apart.
    page.legend([looks[name] for name in learners], captions.mean_over(points))
    page.describe(learners, about, captions.means_are(points))
    return page.fit(
        grid, (across, captions.with_head("Accuracy (%)", points)), height=1.7
    )
