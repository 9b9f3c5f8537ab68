"""Average accuracy by sampling strategy: the best choice of stored samples.

x: kinds of learners, each at one budget; y: A_T in %, from metrics.csv; a mark for each
strategy (Chaudhry et al. 2018, figure 5).

Within a group only the strategy differs: kind of learner and number of samples are the
same.
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from figures import captions, lines
from figures.appearance import strategy_appearances
from figures.kinds.memory import stored
from figures.page import Page
from figures.tables import StudyTables
from probe.tables.table_file import where

_GROUP = ["kind", "budget", "unit"]  # number of samples, and unit of their number

QUESTION = "Which samples are best stored?"
NEEDS = "a kind of learner with two strategies at the same budget"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw A_T of every strategy, grouped by kind of learner and budget (Chaudhry 2018, figure 5).

    Bars are 95 % intervals over seeds. If all groups share a budget, the x axis names
    it; otherwise each group's name does. Among learners with the same kind, strategy
    and budget, the first counts.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None if no kind has two strategies at the same budget.
    """
    T, accuracy = tables.after_last_task("average_accuracy")
    rows = stored(tables.learners).merge(accuracy.reset_index(drop=True), on="learner")
    rows = rows.drop_duplicates([*_GROUP, "sampling"])
    rows = rows[rows.groupby(_GROUP)["sampling"].transform("size") > 1]
    if rows.empty:
        return None
    rows = rows.assign(group=rows.groupby(_GROUP, sort=False).ngroup())
    groups = list(rows[_GROUP].drop_duplicates().itertuples(index=False, name=None))
    looks = strategy_appearances(rows["sampling"])
    # More marks than this would touch in a column of a page.
    (axes,) = page.panels([""], wide=len(groups) * len(looks) > 16)
    rows_of = {strategy: where(rows, sampling=strategy) for strategy in looks}
    lines.plot_dodged(axes, looks, rows_of, "group", most=0.2, span=0.6, joined=False)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    for group in range(1, len(groups)):
        axes.axvline(group - 0.5, color="0.8", linewidth=0.6, zorder=0)
    page.legend(looks.values(), captions.over_seeds(rows), joined=False)
    x_label, names = _group_names(groups, page)
    page.name_ticks([axes], [dict(enumerate(names))])
    page.describe(
        rows["kind"].unique(),
        f"Average accuracy after {captions.counted(T, 'task')} by the strategy that "
        "selects the stored samples",
        "Within a group the kind of learner and the number of samples are the same",
        captions.points_are(rows),
        kinds=True,
    )
    y_label = captions.with_head(f"Average accuracy $A_{{{T}}}$ (%)", rows)
    return page.fit([axes], (x_label, y_label), height=2.0)


def _group_names(
    groups: Sequence[tuple[str, int, str]], page: Page
) -> tuple[str, list[str]]:
    """Return the label of x and the names of the groups, with the budget if budgets differ.

    >>> _group_names([("er", 10, "per class"), ("ewc", 10, "per class")], Page())
    ('Learner, with 10 stored samples per class', ['ER', 'EWC'])
    >>> _group_names([("er", 10, "per class"), ("er", 20, "per class")], Page())
    ('Learner, with stored samples', ['ER, 10 per class', 'ER, 20 per class'])
    """
    names = [page.display_name(kind) for kind, _, _ in groups]
    _, budget, unit = groups[0]
    if len({group[1:] for group in groups}) == 1:
        return f"Learner, with {budget} stored samples {unit}", names
    pairs = zip(names, groups, strict=True)
    return "Learner, with stored samples", [
        f"{name}, {n} {unit}" for name, (_, n, unit) in pairs
    ]
