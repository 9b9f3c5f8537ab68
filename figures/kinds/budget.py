"""Accuracy by retraining budget: whether more epochs would change what a layer shows.

x: multiples of the retraining's epochs; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, for the ceiling (offline) and for the floor (untrained).

Lines that are level at the right have converged. If a line still rises, the layer may hold more
than was read out; if the floor still rises, the share retained depends on the budget.
"""

from matplotlib.figure import Figure

from figures.amounts import draw_amounts
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.statement_text import multiple_of

QUESTION = "Would more retraining change what a layer shows?"
NEEDS = "a layer retrained for two multiples of the epochs (--budget 1,4)"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per feature with a line for each learner and control over the multiples.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no feature was measured at two multiples.
    """
    return draw_amounts(
        tables,
        page,
        multiple_of,
        "Multiple of the retraining's epochs",
        "Accuracy on all tasks after multiples of the retraining's epochs, for each feature",
        "The network that has learned all tasks is held fixed up to the feature, and everything "
        "downstream is retrained on all tasks at once; a line that still rises has not converged",
    )
