"""A study of two tasks whose every count and cost is made by hand, and its tables as dicts."""

import csv

import numpy as np

from probe.by_layer.fingerprint import Setup
from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement, Spent
from probe.metrics.counts import Counts
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from probe.tables.run_directory import TABLES
from probe.training.costs import Cost
from scenarios.study.source import check_study
from tests.scenarios.tiny_run import PLAIN

TASKS = (("0-1", (0, 1)), ("2-3", (2, 3)))

# (order, seed) -> part -> how many of the 10 test examples of task 0-1, and of the 30 of task 2-3,
# are right. Order `there` learns 0-1 first, order `back` 2-3.
FINETUNE = {
    ("there", 0): {"0": (2, 6), "1": (10, 0), "2": (4, 30), "hidden1": (8, 24)},
    ("back", 0): {"0": (2, 6), "1": (0, 24), "2": (10, 12), "hidden1": (6, 30)},
    ("there", 1): {"0": (0, 0), "1": (8, 0), "2": (8, 30), "hidden1": (10, 30)},
    ("back", 1): {"0": (0, 0), "1": (0, 30), "2": (2, 30), "hidden1": (6, 26)},
}
OFFLINE = {("", 0): {"0": (2, 6), "2": (10, 24)}, ("", 1): {"0": (0, 0), "2": (8, 30)}}
CUMULATIVE = {
    ("there", 0): {"0": (2, 6), "1": (10, 0), "2": (10, 24), "hidden1": (10, 30)},
    ("back", 0): {"0": (2, 6), "1": (0, 30), "2": (8, 30), "hidden1": (10, 30)},
    ("there", 1): {"0": (0, 0), "1": (8, 0), "2": (10, 30), "hidden1": (10, 30)},
    ("back", 1): {"0": (0, 0), "1": (0, 30), "2": (10, 30), "hidden1": (10, 30)},
}
RUNS = {"finetune": FINETUNE, "offline": OFFLINE, "cumulative": CUMULATIVE}


def counts(first, second):
    """Return counts with that many right; what is wrong is taken for 3, or in task 2-3 for 0."""
    table = np.diag([first // 2, first // 2, second // 2, second // 2])
    table[:2, 3] = 5 - first // 2
    table[2:, 0] = 15 - second // 2
    return Counts(table)


def cost(order, seed, step):
    """Return what a task cost: three copies of the parameters and the first task's data at step 2.

    The data of task 0-1 take 60 bytes, those of 2-3 140; a task costs 4 passes, in seed 1 only 2.
    """
    sizes = (140, 60) if order == "back" else (60, 140)
    return Cost(
        parameter_bytes=100,
        carried_bytes=200 * (step - 1),
        stored_bytes=sizes[0] * (step - 1),
        train_bytes=sizes[step - 1],
        ops_one_pass=10 * step,
        ops=10 * step * (2 if seed else 4),
        kept_bytes=100 + 200 * step + sum(sizes[:step]),
    )


def written(root, learners, without=(), multi=None, costs=True, report=None):
    """Write the tables of a study of these learners and return them as lists of dicts.

    without: the parts (learner, order, seed, part) that are not finished; multi: as RUNS, under the
    heads `multi` and `all`, None = as under `single`.
    """
    raw = {
        "name": "toy",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1"]},
        "learners": {name: {} for name in learners},
        "orders": {"there": [1, 2], "back": [2, 1]},
        "seeds": 2,
        "probing": PLAIN,
        "report": report or {},
    }
    study = check_study(raw, "toy")
    setup = Setup(study=study, tasks=TASKS, data="", device="cpu", torch="")
    for job in jobs_of(study, len(TASKS)):
        store = store_of(setup, root, job)
        for part in parts_of(study, job):
            if (job.learner, job.order, job.seed, part) not in without:
                store.write(part, measured(job, part, multi or RUNS, costs))
    write_tables(setup, root)
    return {name.removesuffix(".csv"): read(root / name) for name in TABLES}


def measured(job, part, multi, costs):
    """Return the measurement of a part: its counts under each head, and a task's cost."""
    kind, _, name = part.partition("-")
    single = counts(*RUNS[job.learner][job.order, job.seed][name])
    if kind == "feature":
        return Measurement(counts={"single": (single,)})
    other = counts(*multi[job.learner][job.order, job.seed][name])
    step = min(int(name), 1) if job.offline else int(name)
    spent = None
    if costs and step:
        spent = Spent(cost=cost(job.order, job.seed, step), seconds=0.25 * step)
    tables = {"single": (single,), "multi": (other,), "all": (other,)}
    return Measurement(counts=tables, spent=spent)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cells(rows, **given):
    """Return the rows in which every given column has that value."""
    return [row for row in rows if all(row[name] == value for name, value in given.items())]


def values(rows, **given):
    return [float(row["value"]) for row in cells(rows, **given)]


def spread(rows, **given):
    """Return mean, std and seeds of the only such row."""
    [row] = cells(rows, **given)
    return float(row["mean"]), float(row["std"] or "nan"), int(row["seeds"])
