"""CLscore and CLstability under each weighting of the criteria.

x: the weightings W1, W2, W3 of Diaz-Rodriguez et al. 2018 and those of the study's report; y: the
score in [0, 1], from metrics.csv; a mark for each learner.

Both sum up the seven criteria that `spider` shows one by one. If the order of the learners
changes from one weighting to the next, the best depends on the weights.
"""

from matplotlib.figure import Figure

from figures import labels, lines
from figures.pages.page import Page
from figures.tables import Tables, continual
from probe.tables.rows import MetricRow

NEEDS = "a score"
TABLES = ("metrics", "learners")


def names(tables: Tables) -> list[str]:
    """Return the learners that are drawn."""
    return continual(_scored(tables))


def _scored(tables: Tables) -> list[MetricRow]:
    """Return the rows of all scores."""
    scores = tables.by_bracket("diaz_rodriguez", "cl_score")
    return [row for group in scores.values() for row in group.values()]


def draw(tables: Tables, page: Page) -> Figure | None:
    """Draw one group per weighting, W1, W2, W3 and user-defined ones, with one mark per learner.

    CLscore in the first panel; CLstability in the second, where there are two seeds or more
    (Diaz-Rodriguez 2018, table 3). Both in [0, 1], larger is better; a score with a standard
    deviation over seeds has a bar. The panels have separate y axes, as scores and stabilities
    may lie far apart. Returns None without a score.
    """
    scores = tables.by_bracket("diaz_rodriguez", "cl_score")
    if tables.crowded or not scores:
        return None
    found = tables.by_bracket("diaz_rodriguez", "cl_stability")
    stability = {
        # Of one seed there is no stability; every weighting keeps its group, even if it is empty.
        weighting: {name: row for name, row in found.get(weighting, {}).items() if row.seeds > 1}
        for weighting in scores
    }
    shown = {"CLscore": scores}
    if any(stability.values()):
        shown["CLstability"] = stability
    rows, learners = _scored(tables), names(tables)
    appearances = page.looks(learners)
    drawn_as = {name: appearances[name] for name in learners}
    # Below each other, a panel has twice the width.
    crowded = len(learners) * len(scores) > 24
    wide = crowded or len(shown) > 1
    most = 1 if crowded else 2
    grid = page.panels(list(shown), most, wide=wide, share_y=False, fold=False)
    for axes, groups in zip(grid, shown.values(), strict=True):
        lines.plot_groups(axes, drawn_as, list(groups.values()), most=0.15, span=0.8, scale=1)
        page.name_ticks(axes, range(len(groups)), list(groups))
    note = labels.with_head(labels.over_seeds(rows), rows)
    page.legend(drawn_as.values(), note, joined=False)
    both = "CLscore and CLstability" if any(row.seeds > 1 for row in rows) else "CLscore"
    page.describe(
        tables,
        learners,
        f"{both} (Diaz-Rodriguez et al. 2018) under each weighting of the seven criteria, from 0 "
        f"to 1, larger is better",
        labels.points_are(rows),
    )
    return page.fit(grid, ("Weights of the criteria", ""), height=1.8)
