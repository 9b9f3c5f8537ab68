"""Repair: how many examples of each class a new head on each layer needs.

x: examples of each class; y: accuracy on all tasks in %, from layers.csv; a panel for
each feature, a line for each learner, for the ceiling (offline) and for the floor
(untrained), each with the same number of examples.

A layer that needs as many examples as an untrained one has kept nothing that a new head
could use.
"""

from matplotlib.figure import Figure

from figures.kinds.budget import draw_amounts
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.layer_text import per_class_of

QUESTION = "How many examples does a new head need?"
NEEDS = "the readout linear with two numbers of examples (readouts linear:1, linear:20)"
TABLES = ("layers", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a panel per feature with a line for each learner and control over the examples.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no feature was read with two numbers of examples.
    """
    return draw_amounts(
        tables,
        page,
        per_class_of,
        "Examples of each class",
        "Accuracy on all tasks of a linear classifier on each feature of the network "
        "that has learned all tasks, by the number of training examples of each class "
        "that it is fitted to",
    )
