"""Accuracy on the fixed test set of all tasks, those to come among them, as the tasks are learned.

x: tasks learned; y: accuracy in %; a line for each learner. After Diaz-Rodriguez et al.
2018, figure 1b.
"""

from matplotlib.figure import Figure

from figures.kinds.sessions import courses
from figures.page import Page
from figures.tables import StudyTables

QUESTION = "How much of all that is to come has been learned?"
NEEDS = "two learners with fixed_accuracy after two tasks or more"
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
    about = (
        "Accuracy on the fixed test set of all tasks (Diaz-Rodriguez et al. 2018, "
        "figure 1b)"
    )
    return courses(
        tables, page, "diaz_rodriguez", {"fixed_accuracy": ""}, about, "Tasks learned"
    )
