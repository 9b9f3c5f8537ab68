"""Accuracy as tasks are learned: by session (`sessions`), and on all tasks to come (`fixed`).

x: the session, or tasks learned; y: accuracy in % on the test data that the panel's
title names, from metrics.csv; a line for each learner.

`sessions`: after Kemker et al. 2018, figures 2, S2 and S3: Omega_all, Omega_base and
Omega_new are the means of these lines from the second session on, the first two as
shares of the joint network's accuracy. The base set, which is learned first, shows
retention; the newest session shows new learning. A learner may be good at one at the
expense of the other.

`fixed`: on the fixed test set of all tasks, those to come among them, after
Diaz-Rodriguez et al. 2018, figure 1b. A learner that learns all and forgets nothing
rises evenly to the accuracy of joint training.
"""

from collections.abc import Mapping
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.kinds import Kind
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where


def draw(
    tables: StudyTables,
    page: Page,
    paper: str,
    panels: Mapping[str, str],
    about: str,
    across: str,
) -> Figure | None:
    """Draw metrics that are measured after each task, a panel each and a line for each learner.

    A line is a mean over orders and seeds. The panels share their y axis.

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
    # Without bars, under which the lines of many tasks could not be told apart.
    page.legend([looks[name] for name in learners], captions.mean_over(points))
    page.describe(learners, about, captions.mean_over(points))
    y_label = captions.with_head("Accuracy (%)", points)
    return page.fit(grid, (across, y_label), height=1.7)


_TABLES = ("metrics", "learners")

sessions = Kind(
    partial(
        draw,
        paper="kemker",
        panels={
            "alpha_all": r"All sessions so far, $\alpha_{\mathrm{all},i}$",
            "alpha_base": r"Base set, $\alpha_{\mathrm{base},i}$",
            "alpha_new": r"Newest session, $\alpha_{\mathrm{new},i}$",
        },
        about="Accuracy after each session (Kemker et al. 2018): on all sessions so "
        "far, on the base set, which is learned first, and on the newest session",
        across="Session $i$",
    ),
    "Do methods retain the base set, and learn new sessions?",
    "two methods and two sessions",
    _TABLES,
)

fixed = Kind(
    partial(
        draw,
        paper="diaz_rodriguez",
        panels={"fixed_accuracy": ""},
        about="Accuracy on the fixed test set of all tasks (Diaz-Rodriguez et al. "
        "2018, figure 1b)",
        across="Tasks learned",
    ),
    "How much of all that is to come has been learned?",
    "two methods with fixed_accuracy after two tasks or more",
    _TABLES,
)
