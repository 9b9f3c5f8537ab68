"""Accuracy on each task from the moment it was learned, with all learners in one panel.

x: the number of tasks learned; y: accuracy in % on the one task of the panel, from
measurements.csv; a line for each learner, which begins when the task is learned (Chaudhry et al.
2018, figure 2).

The same numbers as in `matrix`, laid out to compare learners: one that starts a panel higher has
learned the task better, one that falls less has forgotten less of it.
"""

from matplotlib.figure import Figure

from figures import captions, layout, lines
from figures.kinds import matrix
from figures.page import Page
from figures.tables import StudyTables

MOST_PANELS = 20
"""Most tasks that all have panels; of more, only those at the ticks of an axis have one.

With more of them a panel would be too small to read.
"""

QUESTION = "Which learner retains each task?"
NEEDS = matrix.NEEDS
TABLES = ("measurements", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one panel per position j in the executed order: R[k, j] against k = j..T.

    There is one line per continual learner. The last panel is A_k, the average over the k tasks
    learned so far (Chaudhry 2018, figure 2). All are means over orders and seeds. With several
    orders, different tasks share a position, and so a panel.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None without a continual learner.
    """
    matrices = tables.matrices
    if tables.crowded or not matrices:
        return None
    looks = page.appearances(matrices)
    T = max(R.tasks for R in matrices.values())
    # Of many tasks every panel would be too small to be read.
    positions = list(range(1, T + 1)) if T <= MOST_PANELS else layout.ticks(1, T)
    titles = [*(f"Task {j}" for j in positions), "Average of tasks so far"]
    (*grid, last) = page.panels(titles, 4 if len(positions) < 12 else 5, fold=False)
    for axes, j in zip(grid, positions, strict=True):
        # Row j of R is after j tasks, and column j - 1 the j-th task.
        courses = {name: R.values[j:, j - 1] for name, R in matrices.items()}
        lines.plot_courses(axes, looks, courses, first=j)
    # A_k, the mean of R[k, 1..k] (Chaudhry 2018, section 3), NaN where a cell is missing.
    averages = {
        name: [R.values[k, :k].mean() for k in range(1, R.tasks + 1)]
        for name, R in matrices.items()
    }
    lines.plot_courses(last, looks, averages)
    for axes in (*grid, last):
        lines.mark_steps(axes, T)
    page.legend([looks[name] for name in matrices])
    page.describe(
        matrices,
        "Accuracy on each task from the moment it was learned, and on average over the tasks "
        "learned so far",
        "Tasks are numbered by their position in the executed order",
        *captions.of_accuracies(tables, "All"),
    )
    y_label = captions.with_head("Accuracy (%)", tables.measurements)
    return page.fit([*grid, last], ("Tasks learned so far", y_label), height=1.15)
