"""Accuracy on the fixed test set of all tasks, those to come among them, as the tasks are learned.

x: tasks learned; y: accuracy in %; a line for each learner. After Diaz-Rodriguez et al. 2018,
figure 1b.
"""

from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

QUESTION = "How much of all that is to come has been learned?"
NEEDS = "two learners and two tasks"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw the accuracy on the test data of all T tasks against the tasks learned, 1..T.

    Whoever learns and forgets nothing rises evenly to the accuracy of offline training.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None unless there are two learners and two tasks to compare.
    """
    points = tables.by_number("diaz_rodriguez", "fixed_accuracy")
    T, learners = points["bracket"].nunique(), points["learner"].unique()
    if tables.crowded or len(learners) < 2 or T < 2:
        return None
    looks = page.appearances(learners)
    grid = page.panels([""], wide=True)
    courses = {name: where(points, learner=name)["mean"] for name in learners}
    lines.plot_courses(grid[0], looks, courses)
    lines.mark_steps(grid[0], T)
    page.legend([looks[name] for name in learners], captions.mean_over(points))
    page.describe(
        learners,
        "Accuracy on the fixed test set of all tasks (Diaz-Rodriguez et al. 2018, figure 1b)",
        captions.means_are(points),
    )
    return page.fit(grid, ("Tasks learned", captions.with_head("Accuracy (%)", points)), height=1.9)
