"""Accuracy on each task from the moment it was learned, with all learners in one panel.

x: the number of tasks learned; y: accuracy in % on the one task of the panel, from
measurements.csv; a line for each learner, which begins when the task is learned (Chaudhry et al.
2018, figure 2).

The same numbers as in `curves`, laid out to compare learners: one that starts a panel higher has
learned the task better, one that falls less has forgotten less of it.
"""

from matplotlib.figure import Figure

from figures import labels, layout, lines
from figures.kinds import curves
from figures.pages.page import Page
from figures.tables import Tables

MOST_PANELS = 20
"""Most tasks that all have panels; of more, only those at the ticks of an axis have one.

With more of them a panel would be too small to read.
"""

QUESTION = "Which learner retains each task?"
NEEDS = curves.NEEDS
TABLES = ("measurements", "learners")


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one panel per position j in the executed order: R[k, j] against k = j..T.

    One line per continual learner; the last panel is A_k, the average over the k tasks learned so
    far (Chaudhry 2018, figure 2). All are means over orders and seeds.

    A panel is of a position in the order, not of a task by its name: over several orders different
    tasks share it. Returns None without a continual learner.
    """
    matrices = tables.matrices
    if tables.crowded or not matrices:
        return None
    appearances = page.looks(matrices)
    T = max(R.tasks for R in matrices.values())
    # Of many tasks every panel would be too small to be read.
    places = list(range(1, T + 1)) if T <= MOST_PANELS else layout.ticks(1, T)
    titles = [*(f"Task {j}" for j in places), "Average of tasks so far"]
    most = 4 if len(places) < 12 else 5
    (*grid, last) = page.panels(titles, most, fold=False)
    for axes, j in zip(grid, places, strict=True):
        # Row j of R is after j tasks, and column j - 1 the j-th task.
        own = {name: R.values[j:, j - 1] for name, R in matrices.items()}
        lines.plot_courses(axes, appearances, own, first=j)
    averages = {name: curves.seen_average(R) for name, R in matrices.items()}
    lines.plot_courses(last, appearances, averages)
    for axes in (*grid, last):
        lines.mark_steps(axes, T)
    page.legend([appearances[name] for name in matrices])
    sides = ("Tasks learned so far", labels.with_head("Accuracy (%)", tables.measurements))
    page.describe(
        matrices,
        "Accuracy on each task from the moment it was learned, and on average over the tasks "
        "learned so far",
        "Tasks are numbered by their position in the executed order",
        *labels.of_accuracies(tables, "All"),
    )
    return page.fit([*grid, last], sides, height=1.15)
