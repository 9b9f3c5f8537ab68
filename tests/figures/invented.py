"""Invented tables of any shape: the numbers are random, and the same every time."""

import math

import numpy as np

from probe.tables.rows import LearnerRow, MetricRow, Row, SummaryRow, TimeRow
from probe.tables.summary import summarize
from probe.tables.table_file import write_table

CRITERIA = ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt")


def rows(learners, features=("output",), *, tasks=5, orders=2, seeds=2, head="single", own=None):
    """Return the rows of a study; own: the features of learners with a network of their own."""
    rng = np.random.default_rng(0)
    found = []
    for learner in learners:
        alone = learner == "offline"
        has = (own or {}).get(learner, features)
        for seed in range(seeds):
            for order in [""] if alone else map(str, range(orders)):
                who = {"scenario": "digits", "network": "cnn3", "learner": learner}
                found += [
                    Row(**who, order=order, seed=seed, **cell, value=float(rng.random()))
                    for cell in _cells(has, tasks, head, alone)
                ]
    return found


def _cells(features, tasks, head, alone):
    task = {place: f"t{place}" for place in range(1, tasks + 1)}
    cells = [
        {"measure": "accuracy", "head": head, "step": step, "place": place, "task": name}
        for step in ((0, tasks) if alone else range(tasks + 1))
        for place, name in task.items()
    ]
    for depth, feature in list(enumerate(features, start=1))[-1 if alone else 0 :]:
        at = {"feature": feature, "depth": depth}
        cells.append({"measure": "pra", **at})
        cells += [{"measure": "f1", **at, "place": p, "task": name} for p, name in task.items()]
    return cells


def metrics(learners, *, tasks=5, seeds=3, head="single", weightings=("W1",), **means):
    """Return the metrics of a study; means: of a metric, by learner, in place of random ones."""
    rng = np.random.default_rng(0)
    names = [("diaz_rodriguez", name) for name in CRITERIA]
    for kind in ("cl_score", "cl_stability"):
        names += [("diaz_rodriguez", f"{kind}[{weights}]") for weights in weightings]
    for k in range(1, tasks + 1):
        names += [("chaudhry", f"average_accuracy[{k}]"), ("chaudhry", f"intransigence[{k}]")]
    names += [("chaudhry", f"forgetting[{k}]") for k in range(2, tasks + 1)]
    for what in ("base", "new", "all"):
        names += [("kemker", f"alpha_{what}[{i}]") for i in range(1, tasks + 1)]
        names += [("kemker", f"omega_{what}")]
    names += [("kemker", "model_size_mb")]
    return [
        MetricRow(
            learner=learner,
            paper=paper,
            metric=metric,
            head="" if metric in ("ms", "sss", "ce", "model_size_mb") else head,
            mean=means.get(metric, {}).get(learner, float(rng.random())),
            std=0.1 * float(rng.random()) if seeds > 1 else math.nan,
            seeds=seeds,
        )
        for learner in learners
        for paper, metric in names
    ]


def times(learners, *, tasks=5, orders=2, seeds=2):
    """Return how long the tasks of a study took."""
    rng = np.random.default_rng(0)
    return [
        TimeRow(learner=name, order=str(order), seed=seed, step=k, seconds=float(rng.uniform(1, 9)))
        for name in learners
        for seed in range(seeds)
        for order in range(orders)
        for k in range(1, tasks + 1)
    ]


def learner(name, kind="", *, per_class=None, total=None, sampling=""):
    """Return what a learner is, and what it stores."""
    return LearnerRow(
        learner=name, kind=kind or name, per_class=per_class, total=total, sampling=sampling
    )


def write(folder, measured, scores=()):
    """Write a study's tables; learners named er10-uniform store that many, chosen so."""
    folder.mkdir(exist_ok=True)
    names = list(dict.fromkeys(row.learner for row in scores))
    stored = [
        learner(name, "er", per_class=int(name[2:4]), sampling=name[5:])
        for name in names
        if name[2:4].isdecimal()
    ]
    for name, kind, table in (
        ("rows", Row, measured),
        ("summary", SummaryRow, summarize(measured)),
        ("metrics", MetricRow, scores),
        ("learners", LearnerRow, stored),
        ("times", TimeRow, times(names, tasks=2)),
    ):
        write_table(folder / f"{name}.csv", kind, table)
    return folder
