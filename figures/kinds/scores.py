"""CLscore and CLstability under each weighting of the criteria.

x: the weightings W1, W2, W3 of Diaz-Rodriguez et al. 2018 and those of the study's report; y: the
score in [0, 1], from metrics.csv; a mark for each learner.

Both sum up the seven criteria that `spider` shows one by one. If the order of the learners
changes from one weighting to the next, the best depends on the weights. Axes go from 0 to 1; a
stability that hardly differs is a sentence of the caption.
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from figures import labels, lines
from figures.pages.page import Page
from figures.tables import Tables, continual
from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3
from probe.tables.rows import MetricRow

_LITTLE = 0.05  # a difference in CLstability of which no panel is drawn
_WEIGHTINGS = {"W1": W1, "W2": W2, "W3": W3}

QUESTION = "Does the best learner depend on the weights?"
NEEDS = "two learners and a score"
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

    CLscore in the first panel; CLstability in the second, where there are two seeds or more and it
    differs (Diaz-Rodriguez 2018, table 3). Both in [0, 1], larger is better; a score with a
    standard deviation over seeds has a bar. Returns None without two learners with a score.
    """
    scores = tables.by_bracket("diaz_rodriguez", "cl_score")
    rows, learners = _scored(tables), names(tables)
    if tables.crowded or len(learners) < 2:
        return None
    found = tables.by_bracket("diaz_rodriguez", "cl_stability")
    stability = {
        # Of one seed there is no stability; every weighting keeps its group, even if it is empty.
        weighting: {name: row for name, row in found.get(weighting, {}).items() if row.seeds > 1}
        for weighting in scores
    }
    shown = {"CLscore": scores}
    known = [row.mean for group in stability.values() for row in group.values()]
    if known and max(known) - min(known) > _LITTLE:
        shown["CLstability"] = stability
    appearances = page.looks(learners)
    drawn_as = {name: appearances[name] for name in learners}
    # Below each other, a panel has twice the width.
    crowded = len(learners) * len(scores) > 24
    wide = crowded or len(shown) > 1
    most = 1 if crowded else 2
    grid = page.panels(list(shown), most, wide=wide, fold=False)
    for axes, groups in zip(grid, shown.values(), strict=True):
        lines.plot_groups(axes, drawn_as, list(groups.values()), most=0.15, span=0.8, scale=1)
    lines.hold_fractions(grid[0])
    page.name_ticks(grid, [range(len(scores))] * len(grid), [list(scores)] * len(grid))
    note = labels.with_head(labels.over_seeds(rows), rows)
    page.legend(drawn_as.values(), note, joined=False)
    said = f"CLstability lies between {min(known):.3f} and {max(known):.3f}" if known else ""
    page.describe(
        tables,
        learners,
        f"{' and '.join(shown)} (Diaz-Rodriguez et al. 2018) under each weighting of the seven "
        f"criteria, from 0 to 1, larger is better",
        "CLscore is the weighted mean of the criteria, CLstability 1 minus that of their standard "
        "deviations over seeds",
        *(f"Weights {name}: {_weights(w)}" for name, w in _WEIGHTINGS.items() if name in scores),
        said * (len(shown) == 1),
        labels.points_are(rows),
    )
    return page.fit(grid, ("Weights of the criteria", ""), height=1.8)


def _weights(weights: Sequence[float]) -> str:
    """Return the weight of each criterion, or that of all.

    >>> _weights(W1)
    'all 0.14'
    """
    if len(set(weights)) == 1:
        return f"all {weights[0]:.2f}"
    return ", ".join(f"{k} {w:g}" for k, w in zip(CRITERIA, weights, strict=True))
