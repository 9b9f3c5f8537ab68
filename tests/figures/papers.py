"""A small study whose every figure can be drawn, in memory and as a run directory."""

from functools import cache

from figures.options import Options
from figures.plotting import Drawing, draw_kinds
from tests.figures import invented

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "cumulative", "mine", "yours", "ewc"]
SWEEP = [f"er{k}-{how}" for k in (10, 20) for how in ("uniform", "entropy")]


@cache
def tables():
    """Return all tables of the study, with the scores of a sweep of budgets and strategies."""
    return invented.study(LEARNERS, FEATURES, sweep=SWEEP)


def rows():
    """Return the measurements: learners of this package, two others, and the controls."""
    return tables().measurements


@cache
def figure(kind):
    """Return the figure of the study, which nobody may change."""
    return Drawing(kind)(tables())


def caption(kind, of):
    """Return the caption of a figure of tables."""
    return draw_kinds([kind], of, Options())[kind][1]


def metric(name, learner):
    """Return one metric of the study."""
    rows = tables().metrics.query("metric == @name and learner == @learner")
    (row,) = rows.itertuples()
    return row


def run_directory(folder):
    """Write the study as a run does, with the scores of the sweep."""
    t = tables()
    return invented.write(
        folder,
        rows(),
        t.metrics,
        causes=t.causes,
        layers=t.layers,
        diagnostics=t.diagnostics,
    )
