"""Tables of a large study from its stored predictions, which nobody measured: only the time counts.

The files lie in the system's cache, as they have just been written.
"""

import time
from dataclasses import fields
from functools import partial
from itertools import chain, cycle

import numpy as np

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.measurement import Cost, Measurement, TrainingCost
from probe.results.run_directory import describe, read_plan, store_of
from probe.results.scores import metric_rows
from probe.results.tables import measured_rows, read_predictions
from probe.tables.summary import summarize
from probe.tables.table_file import new_table, write_table
from probe.tasks import TestExamples
from tests.bench.timing import scratch
from tests.scenarios.study.toy import named_plan

LEARNERS = (
    "finetune",
    "er",
    "ewc",
    "si",
    "lwf",
    "gem",
    "icarl",
    "cumulative",
    "offline",
)
TASKS = 20
PER_TASK = 5
SEEDS = 5
HEADS = ("single", "multi", "all")
STEPS = ("reading", "summary.csv", "metrics.csv", "measurements.csv")
_POOL = 40  # predictions that measurements take turns with: to draw them takes longest
_COST = Cost(**dict.fromkeys((field.name for field in fields(Cost)), 10))


def tables(repeats):
    """Tables of 20 tasks of 5 classes and 5 seeds from stored predictions, once: s on the clock."""
    with scratch() as root:
        _write_study(root)
        seconds = _written_tables(root)
        with (root / "measurements.csv").open("rb") as file:
            count = sum(1 for _ in file) - 1
    yield ("measurements", *STEPS, "no measurements.csv")
    yield (f"{count:,}", *(f"{each:.2f}" for each in (*seconds, sum(seconds[:-1]))))


def _written_tables(root):
    """Read the measurements of a study and write its tables; return the seconds of each step."""
    plan = read_plan(root)
    seconds = []

    def step(action):
        start = time.perf_counter()
        done = action()
        seconds.append(time.perf_counter() - start)
        return done

    predictions = step(lambda: read_predictions(plan, root))
    summary, metrics, measured = (root / name for name in STEPS[1:])
    rows = map(partial(measured_rows, predictions), predictions.runs)
    table = new_table("measurements", chain.from_iterable(rows))
    step(lambda: write_table(summary, "summary", summarize(table)))
    scores = partial(metric_rows, predictions)
    step(lambda: write_table(metrics, "metrics", new_table("metrics", scores())))
    step(lambda: write_table(measured, "measurements", table))
    return seconds


def _write_study(root):
    """Write every measurement of a study as its jobs would."""
    raw = {
        "name": "made-up",
        "scenario": {"kind": "class-incremental", "data": "digits"},
        "network": {"name": "cnn3"},
        "learners": {name: {} for name in LEARNERS},
        "seeds": SEEDS,
        "report": {"heads": HEADS},
    }
    first_layer = range(0, TASKS * PER_TASK, PER_TASK)
    plan = named_plan(
        raw, tuple((f"task {k}", tuple(range(k, k + PER_TASK))) for k in first_layer)
    )
    describe(root, plan)
    # 100 test examples a class, most of them predicted as one of a few.
    draw = np.random.default_rng(0)
    classes = np.arange(TASKS * PER_TASK)
    labels = classes.repeat(100)
    shares = [
        draw.dirichlet(np.full(len(classes), 0.1), len(classes)) for _ in range(_POOL)
    ]
    pool = []
    for own in shares:
        predicted = [draw.choice(classes, 100, p=p) for p in own]
        pool.append(np.concatenate(predicted))
    test = TestExamples(labels=labels, tasks=labels // PER_TASK)
    turns = cycle(pool)
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        for key in keys_of(plan, job):
            store.write(key, _measured(key, test, next(turns)))


def _measured(key, test, predicted):
    heads = HEADS[:1] if key.feature else HEADS
    cost = None
    if key.tasks_seen and not key.feature:
        cost = TrainingCost(cost=_COST, seconds=0.5)
    return Measurement(test=test, predicted=dict.fromkeys(heads, predicted), cost=cost)
