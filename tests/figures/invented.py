"""Invented tables of any shape: the numbers are random, and the same every time."""

import math

import numpy as np

from probe.tables.rows import (
    DiagnosticRow,
    FirstLayerRow,
    LayerRow,
    LearnerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
    SummaryRow,
    TimeRow,
)
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
                    MeasurementRow(**who, order=order, seed=seed, **cell, value=float(rng.random()))
                    for cell in _cells(has, tasks, head, alone)
                ]
    return found


def _cells(features, tasks, head, alone):
    task = {p: f"t{p}" for p in range(1, tasks + 1)}
    cells = [
        {
            "metric": "accuracy",
            "head": head,
            "tasks_seen": tasks_seen,
            "task_position": task_position,
            "task": name,
        }
        for tasks_seen in ((0, tasks) if alone else range(tasks + 1))
        for task_position, name in task.items()
    ]
    for depth, feature in list(enumerate(features, start=1))[-1 if alone else 0 :]:
        at = {"feature": feature, "depth": depth, "tasks_seen": tasks}
        cells.append({"metric": "pra", **at})
        cells += [
            {"metric": "f1", **at, "task_position": p, "task": name} for p, name in task.items()
        ]
    return cells


def metrics(learners, *, tasks=5, seeds=3, head="single", weightings=("W1",), **means):
    """Return the metrics of a study; means: of a metric, by learner, in place of random ones."""
    rng, numbers = np.random.default_rng(0), range(1, tasks + 1)
    names = {
        "diaz_rodriguez": [
            *CRITERIA,
            *(f"{kind}[{w}]" for kind in ("cl_score", "cl_stability") for w in weightings),
        ],
        "chaudhry": [
            *(f"{name}[{k}]" for name in ("average_accuracy", "intransigence") for k in numbers),
            *(f"forgetting[{k}]" for k in numbers[1:]),
        ],
        "kemker": [
            *(f"alpha_{of}[{i}]" for of in ("base", "new", "all") for i in numbers),
            *("omega_base", "omega_new", "omega_all", "model_size_mb"),
        ],
    }
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
        for paper, metrics in names.items()
        for metric in metrics
    ]


def times(learners, *, tasks=5, orders=2, seeds=2):
    """Return how long the tasks of a study took."""
    rng = np.random.default_rng(0)
    return [
        TimeRow(
            learner=name,
            order=str(order),
            seed=seed,
            tasks_seen=k,
            seconds=float(rng.uniform(1, 9)),
        )
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


def stored(names):
    """Return what learners store by their names: er10-uniform, a replay of 10 per class."""
    return [
        learner(name, "er", per_class=int(name[2:4]), sampling=name[5:])
        for name in names
        if name[2:4].isdecimal()
    ]


def diagnostics(learners, features, *, tasks=5, orders=2, seeds=2, own=None):
    """Return the diagnostics of learners and controls; ranks are shares of 8 units."""
    rng = np.random.default_rng(3)
    return [
        DiagnosticRow(
            **{"learner": learner, "order": order, "seed": seed, "depth": depth},
            **{
                "feature": feature,
                "metric": measure,
                "tasks_seen": tasks * (learner != "untrained"),
            },
            value=8
            if measure == "units"
            else float(rng.random()) * (8 if measure == "rank" else 1),
        )
        for learner in (*learners, "offline", "untrained")
        for order in ([""] if learner in ("offline", "untrained") else map(str, range(orders)))
        for seed in range(seeds)
        for depth, feature in enumerate((own or {}).get(learner, features), start=1)
        for measure in ("units", "dead", "rank", "cka.untrained", "cka.offline")
    ]


def note(learner, said, *, feature="", seed=0, readout=""):
    """Return a note on a run."""
    at = {"feature": feature, "readout": readout, "tasks_seen": 5}
    return NoteRow(learner=learner, order="0", seed=seed, note=said, **at)


def write(folder, measured, scores=(), found=(), begun=(), looked=()):
    """Write a study's tables; found, begun, looked: of layers; learners are those `stored`."""
    folder.mkdir(exist_ok=True)
    names = list(dict.fromkeys(row.learner for row in scores))
    for name, kind, table in (
        ("measurements", MeasurementRow, measured),
        ("summary", SummaryRow, summarize(measured)),
        ("metrics", MetricRow, scores),
        ("learners", LearnerRow, stored(names)),
        ("times", TimeRow, times(names, tasks=2)),
        ("layers", LayerRow, found),
        ("first_layer", FirstLayerRow, begun),
        ("diagnostics", DiagnosticRow, looked),
    ):
        # As a study does, without files for tables without rows.
        if table or name not in ("layers", "first_layer", "diagnostics"):
            write_table(folder / f"{name}.csv", kind, table)
    return folder


def levels(features=("conv1", "conv2", "output"), *, steps=0, seeds=2, readout="linear"):
    """Return the PRA of the features of the controls: `untrained` at step 0, `offline` at last."""
    runs = [("untrained", ""), ("offline", "")]
    return _pra(runs, features, {"untrained": [0], "offline": [steps]}, seeds, readout, {})


def courses(learners, features, *, steps=5, seeds=2, orders=2, readout="linear", own=None):
    """Return the PRA of each feature after each task; the deepest is the output."""
    runs = [(learner, str(order)) for learner in learners for order in range(orders)]
    taken = dict.fromkeys(learners, range(1, steps + 1))
    return _pra(runs, features, taken, seeds, readout, own or {})


def _pra(runs, features, steps, seeds, readout, own):
    rng = np.random.default_rng(2)
    return [
        MeasurementRow(
            **{"scenario": "digits", "network": "cnn3", "learner": learner, "order": order},
            **{
                "seed": seed,
                "tasks_seen": tasks_seen,
                "depth": depth,
                "feature": feature,
                "metric": "pra",
            },
            readout="" if feature == "output" else readout,
            value=float(rng.uniform(0.5, 0.95)),
        )
        for learner, order in runs
        for seed in range(seeds)
        for tasks_seen in steps[learner]
        for depth, feature in enumerate(own.get(learner, features), start=1)
    ]


def layers(learners, features, *, tasks=5, readouts=("retrain",), seeds=3, split=(), own=None):
    """Return layers.csv: missing accuracy grows with depth and for the first tasks.

    Intervals are 4 points either way. The first feature has no room between floor and ceiling;
    split: the readouts measured at all steps in all features, as the output always is. At the last
    position nothing can be forgotten.
    """
    half = math.nan if seeds == 1 else 0.04
    return [
        LayerRow(
            **{"learner": learner, "readout": readout, "feature": feature, "depth": depth},
            **{"task_position": task_position, "quantity": name, "seeds": seeds},
            **{"value": value, "low": value - half, "high": value + half},
        )
        for learner in learners
        for readout in readouts
        for has in [(own or {}).get(learner, features)]
        for depth, feature in enumerate(has, start=1)
        for task_position in [*range(1, tasks + 1), None]
        for name, value in _quantities(
            depth, task_position, len(has), tasks, whole=readout in split or feature == has[-1]
        ).items()
    ]


def _quantities(depth, task_position, deepest, tasks, *, whole):
    deep, old = depth / deepest, 1 - ((task_position or tasks / 2) - 1) / tasks
    forgotten = {"forgotten": 0.6 * deep**2 * old} if task_position != tasks else {}
    never = 0.1 * old - 0.072
    missing = never + forgotten.get("forgotten", 0)
    return {
        "accuracy": 0.95 - missing,
        "floor": 0.95 - (0.001 if depth == 1 else 0.7 * deep),
        "ceiling": 0.95,
        "missing": missing,
        "retained": math.nan if depth == 1 else 1 - missing / (0.7 * deep),
        **(forgotten | {"never_learned": never} if whole else {}),
        **({"chance": 0.1} if task_position is None and depth == deepest else {}),
    }


def first_layer(learners, feature, *, readouts=("retrain",), seeds=3):
    """Return first_layer.csv: every statement is true from that feature on, "" = of none."""
    ends = {
        "first_possible": feature,
        "first_confirmed": feature,
        "seeds": seeds,
        "seeds_needed": None,
    }
    return [
        FirstLayerRow(learner=learner, readout=readout, statement=statement, **ends)
        for learner in learners
        for readout in readouts
        for statement in ("below_ceiling", "forgets", "learns_less")
    ]
