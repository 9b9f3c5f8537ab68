"""Invented rows of a small study, of every kind that a real one has."""

from itertools import product

import numpy as np

from probe.tables.table_file import new_table

ORDERS = {"a": ("x", "y", "z"), "b": ("z", "x", "y")}
BASE = ("x", "y", "z")
FEATURES = ("conv1", "conv2")
READOUTS = ("retrain", "linear")
T = len(BASE)
PRA = {
    "scenario": "digits",
    "network": "cnn3",
    "learner": "er",
    "order": "1",
    "seed": 0,
    "tasks_seen": 2,
    "feature": "conv1",
    "depth": 1,
    "metric": "pra",
    "value": 1 / 3,
}


def study(seeds=2, learners=("er", "finetune")):
    """Rows as `probe run` writes them, with values that no two cells share."""
    draw = np.random.default_rng(0)
    rows = []
    for name, order, seed in product(learners, ORDERS.items(), range(seeds)):
        rows += _run(draw, name, *order, seed, range(T + 1), range(1, T + 1))
    for control, tasks_seen in (("offline", T), ("untrained", 0)):
        for seed in range(seeds):
            rows += _run(draw, control, "", BASE, seed, {0, tasks_seen}, {tasks_seen})
    return new_table("measurements", rows)


def _run(
    draw, learner, order, tasks, seed,
    evaluated, probed
) :  # fmt: skip
    def row(**cells):
        run = {"learner": learner, "order": order, "seed": seed}
        return {
            "scenario": "s",
            "network": "n",
            "value": draw.random(),
            **run,
            **cells,
        }

    def by_task(**cells):
        for position, task in enumerate(tasks, 1):
            yield row(metric="accuracy", task_position=position, task=task, **cells)

    for tasks_seen in evaluated:
        for head in ("single", "multi"):
            yield from by_task(tasks_seen=tasks_seen, head=head)
        yield row(
            metric="pra",
            feature="output",
            depth=3,
            tasks_seen=tasks_seen,
        )
    for tasks_seen in probed:
        for depth, feature in enumerate(FEATURES, 1):
            for readout in READOUTS:
                layer = {"feature": feature, "depth": depth, "readout": readout}
                yield row(metric="pra", tasks_seen=tasks_seen, **layer)
                yield from by_task(tasks_seen=tasks_seen, **layer)
