"""CLscore under each weighting of the criteria; CLstability is a sentence of the caption.

x: the weightings W1, W2, W3 of Diaz-Rodriguez et al. 2018 and those of the study's report; y: the
score, from 0 to 1, from metrics.csv; a mark for each learner.

CLscore sums up the seven criteria that `spider` shows one by one. If the order of the learners
changes from one weighting to the next, the best learner depends on the weights.
"""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from figures import captions, lines
from figures.page import Page
from figures.tables import StudyTables, continual
from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3

_WEIGHTINGS = {"W1": W1, "W2": W2, "W3": W3}

QUESTION = "Does the best learner depend on the weights?"
NEEDS = "two learners and a score"
TABLES = ("metrics", "learners")


def draw(tables: StudyTables, page: Page) -> Figure | None:
    """Draw a group per weighting, W1, W2, W3 and user-defined ones, with a mark per learner.

    CLscore is in [0, 1], larger is better (Diaz-Rodriguez 2018, table 3). A score with a standard
    deviation over seeds has a bar.

    Args:
        tables: The tables of the study.
        page: The page to draw on.

    Returns:
        The figure, None unless two learners have a score.
    """
    scores = tables.by_bracket("diaz_rodriguez", "cl_score")
    groups, weightings = pd.factorize(scores["bracket"])
    scores, learners = scores.assign(group=groups), continual(scores)
    if tables.crowded or len(learners) < 2:
        return None
    in_legend = page.appearances(learners)
    looks = {name: in_legend[name] for name in learners}
    (axes,) = page.panels([""], wide=len(learners) * len(weightings) > 12)
    lines.plot_groups(axes, looks, scores, "learner", most=0.15, span=0.8, scale=1)
    lines.hold_fractions(axes)
    page.name_ticks([axes], [dict(enumerate(weightings))])
    note = captions.with_head(captions.over_seeds(scores), scores)
    page.legend(looks.values(), note, joined=False)
    stability = tables.by_bracket("diaz_rodriguez", "cl_stability")
    stabilities = stability["mean"][stability["seeds"] > 1]  # of one seed there is none
    weights = [f"Weights {k}: {_weights(w)}" for k, w in _WEIGHTINGS.items() if k in weightings]
    page.describe(
        learners,
        "CLscore (Diaz-Rodriguez et al. 2018), the weighted mean of the seven criteria, under each "
        "weighting, from 0 to 1, larger is better",
        *weights,
        f"CLstability, 1 minus the weighted mean of their standard deviations over seeds, lies "
        f"between {min(stabilities):.3f} and {max(stabilities):.3f}"
        if len(stabilities)
        else "",
        captions.points_are(scores),
    )
    return page.fit([axes], ("Weights of the criteria", "CLscore"), height=1.8)


def _weights(weights: Sequence[float]) -> str:
    """Return the weight of each criterion, or one weight if all are equal.

    >>> _weights(W1)
    'all 0.14'
    """
    if len(set(weights)) == 1:
        return f"all {weights[0]:.2f}"
    return ", ".join(f"{k} {w:g}" for k, w in zip(CRITERIA, weights, strict=True))
