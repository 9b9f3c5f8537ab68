"""Omega_all against model size and training time: the cost of accuracy.

x: megabytes in the first panel, seconds in the second, on a logarithmic scale if many learners
differ much, else from 0; a cost that is the same for all has no panel; y: Omega_all, from
metrics.csv. Sizes are those of Kemker et al. 2018, table 2; times are in times.csv.

The best learners are at the top left of both panels: accurate, small and fast. Of two that are
equally accurate, the one on the right costs more.
"""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables, differ
from probe.tables.summary import training_seconds

QUESTION = "What does accuracy cost?"
NEEDS = "two learners with an accuracy, a size and times that differ"
TABLES = ("metrics", "learners", "times")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw one marker per continual learner: against its size in a panel, its time in another.

    y: Omega_all, or A_T (Chaudhry 2018) in a study without Offline, which Omega needs. x: size of
    the model with everything stored besides it (Kemker 2018, table 2), and training time of all
    tasks. All are means; bars are one standard deviation of the accuracy over seeds either way. The
    upper left corner is the best.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None unless two learners have all three numbers.
    """
    label, scale, accuracy = _accuracy(tables)  # scale: Omega is a ratio, accuracy in percent
    costs = {
        "Model size (MB)": tables.metric("kemker", "model_size_mb")["mean"].to_dict(),
        "Training time (s)": training_seconds(tables.times),
    }
    learners = [k for k in accuracy.index if all(k in cost_of for cost_of in costs.values())]
    costs = {k: cost for k, cost in costs.items() if differ(cost[name] for name in learners)}
    if tables.crowded or not costs:
        return None
    looks = page.appearances(learners)
    rows = accuracy.loc[learners]
    grid = page.panels([""] * len(costs), most=2)
    for axes, (name, cost_of) in zip(grid, costs.items(), strict=True):
        for learner in learners:
            x, y = [cost_of[learner]], accuracy.loc[[learner]]
            lines.plot_means(axes, looks[learner], x, y, scale=scale, joined=False)
        _scale(axes, [cost_of[learner] for learner in learners])
        axes.set_xlabel(name)
    lines.hold_fractions(grid[0], scale)
    # Both panels have the same learners: only those are drawn whose size and time are known.
    page.legend([looks[name] for name in learners], captions.over_seeds(rows), joined=False)
    omega = "Omega_all, accuracy as a share of that of offline training (Kemker et al. 2018)"
    y_quantity = omega if "Omega" in label else "Average accuracy after the last task"
    page.describe(
        learners,
        f"{y_quantity}, against the size of the model with everything stored beside it, and the "
        f"training time of all tasks, both without spread, where learners differ; best: top left",
        captions.points_are(rows),
    )
    return page.fit(grid, ("", captions.with_head(label, rows)), height=1.9)


def _accuracy(tables: StudyTables) -> tuple[str, float, pd.DataFrame]:
    """Return the accuracy to draw: its label, its scale and its rows by learner."""
    omega = tables.metric("kemker", "omega_all")
    if len(omega):
        return r"$\Omega_{\mathrm{all}}$", 1, omega
    T, average = tables.after_last_task("average_accuracy")
    return f"Average accuracy $A_{{{T}}}$ (%)", 100, average


def _scale(axes: Axes, costs: Sequence[float]) -> None:
    """Let the x axis begin at 0 or, for many costs that differ, be logarithmic with some margin."""
    low, high = min(costs), max(costs)
    if len(costs) < 3 or high < 4 * low:
        axes.set_xlim(0, 1.1 * high)
        axes.locator_params(axis="x", nbins=5)
        return
    axes.set_xscale("log")
    axes.set_xlim(low / 1.4, 1.4 * high)
    # matplotlib marks only powers of ten, of which a narrow axis may have none.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 30 * low else (1.0,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
