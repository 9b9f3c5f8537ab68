"""A small study whose every figure can be drawn, in memory and as a run directory."""

from functools import cache

from figures.options import Options
from figures.plotting import Drawing, asked_for
from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "cumulative", "mine", "yours", "ewc"]
SWEEP = [f"er{k}-{how}" for k in (10, 20) for how in ("uniform", "entropy")]
SEEDS, TASKS = 2, 3
BOTH = {"readouts": ("retrain", "retrain@4", "linear")}


@cache
def rows():
    """Return the rows of a study: learners of this package, two others, and the controls."""
    made = invented.rows([*LEARNERS, "offline"], FEATURES, tasks=TASKS, seeds=SEEDS)
    courses = invented.courses(LEARNERS, FEATURES, steps=TASKS, seeds=SEEDS)
    return [*made, *courses, *invented.levels(FEATURES, steps=TASKS, seeds=SEEDS)]


@cache
def tables():
    """Return all tables of the study, with the scores of a sweep of budgets and strategies."""
    names, stored = [*LEARNERS, *SWEEP], invented.stored(SWEEP)
    spread = {"tasks": TASKS, "seeds": SEEDS, "split": ("linear",)}
    swept = invented.layers(SWEEP, FEATURES, **spread, readouts=("linear",))
    forgotten = (row for row in swept if (row.quantity, row.task_position) == ("forgotten", None))
    return Tables(
        measurements=rows(),
        summary=summarize(rows()),
        metrics=invented.metrics(names, tasks=TASKS, seeds=SEEDS, weightings=["W1", "mine[1]"]),
        learners=[*(invented.learner(name) for name in LEARNERS), *stored],
        times=invented.times(names, tasks=TASKS, seeds=SEEDS),
        layers=[*invented.layers(LEARNERS, FEATURES, **spread, **BOTH), *forgotten],
        first_layer=invented.first_layer(LEARNERS, "conv2", **BOTH),
        diagnostics=invented.diagnostics(LEARNERS, FEATURES, tasks=TASKS, seeds=SEEDS),
    )


@cache
def figure(kind):
    """Return the figure of the study, which nobody may change."""
    return Drawing(kind)(tables())


def caption(kind, of):
    """Return the caption of a figure of tables."""
    return asked_for([kind], of, Options())[kind][1]


def metric(name, learner):
    """Return one metric of the study."""
    (row,) = [r for r in tables().metrics if (r.metric, r.learner) == (name, learner)]
    return row


def run_directory(folder):
    """Write the study as a run does, with the scores of the sweep."""
    t = tables()
    return invented.write(folder, rows(), t.metrics, t.layers, t.first_layer, t.diagnostics)
