"""A small study whose every figure can be drawn, in memory and as a run directory."""

from functools import cache

from figures.tables import Tables
from probe.tables.summary import summarize
from tests.figures import invented

FEATURES = ["conv1", "conv2", "output"]
LEARNERS = ["finetune", "cumulative", "mine", "yours", "ewc"]
SWEEP = [f"er{k}-{how}" for k in (10, 20) for how in ("uniform", "entropy")]
SEEDS, TASKS = 2, 3


@cache
def rows():
    """Return the rows of a study: learners of this package, of two others, and the levels."""
    made = invented.rows([*LEARNERS, "offline"], FEATURES, tasks=TASKS, seeds=SEEDS)
    courses = invented.courses(LEARNERS, FEATURES, steps=TASKS, seeds=SEEDS)
    return [*made, *courses, *invented.levels(FEATURES, steps=TASKS, seeds=SEEDS)]


@cache
def tables():
    """Return all tables of the study, with the scores of a sweep of budgets and strategies."""
    names = [*LEARNERS, *SWEEP]
    stored = [
        invented.learner(name, "er", per_class=int(name[2:4]), sampling=name[5:]) for name in SWEEP
    ]
    return Tables(
        rows=rows(),
        summary=summarize(rows()),
        metrics=invented.metrics(names, tasks=TASKS, seeds=SEEDS, weightings=["W1", "W2"]),
        learners=[*(invented.learner(name) for name in LEARNERS), *stored],
        times=invented.times(names, tasks=TASKS, seeds=SEEDS),
        layers=layers(),
        starts=invented.starts(LEARNERS, "conv2", readouts=("retrain", "linear")),
    )


def layers():
    """Return what each layer lacks, for two readouts."""
    readouts = {"readouts": ("retrain", "linear"), "split": ("linear",)}
    return invented.layers(LEARNERS, FEATURES, tasks=TASKS, seeds=SEEDS, **readouts)


def run_directory(folder):
    """Write the study as a run does, with the scores of the sweep."""
    scores = tables().metrics
    return invented.write(folder, rows(), scores, layers(), tables().starts)
