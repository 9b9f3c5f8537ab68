"""Invented tables of any shape: the numbers are random, and the same every time."""

import math
from itertools import product

import numpy as np
import pandas as pd

from figures.tables import StudyTables
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.summary import summarize
from probe.tables.table_file import new_table, write_table

CRITERIA = ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt")


def rows(
    learners,
    features=("output",),
    *,
    tasks=5,
    orders=2,
    seeds=2,
    head="single",
    own=None,
):
    """Return the rows of a study; own: the features of learners with a network of their own."""
    rng = np.random.default_rng(0)
    at = [{"task_position": p, "task": f"t{p}"} for p in range(1, tasks + 1)]
    result = []
    for learner in learners:
        offline = learner == "offline"
        steps = (0, tasks) if offline else range(tasks + 1)
        cells = [
            task | {"metric": "accuracy", "head": head, "tasks_seen": t}
            for t, task in product(steps, at)
        ]
        layers = list(enumerate((own or {}).get(learner, features), start=1))
        for depth, feature in layers[-1 if offline else 0 :]:
            layer = {"feature": feature, "depth": depth, "tasks_seen": tasks}
            cells.append(layer | {"metric": "pra"})
            cells += [layer | task | {"metric": "f1"} for task in at]
        runs = product(range(seeds), [""] if offline else map(str, range(orders)))
        for (seed, order), cell in product(runs, cells):
            result.append(_measured(rng.random(), learner, order, seed, **cell))
    return new_table("measurements", result)


def _measured(value, learner, order, seed, **cell):
    run = {"learner": learner, "order": order, "seed": seed}
    return {"scenario": "digits", "network": "cnn3", "value": value, **run, **cell}


def levels(
    features=("conv1", "conv2", "output"), *, steps=0, seeds=2, readout="linear"
):
    """Return the PRA of the features of the controls: `untrained` at step 0, `offline` at last."""
    runs = [("untrained", "", [0]), ("offline", "", [steps])]
    return _pra(runs, features, seeds, readout, {})


def courses(
    learners, features, *, steps=5, seeds=2, orders=2, readout="linear", own=None
):
    """Return PRA and accuracies of each feature after each task; the deepest is the output."""
    seen = range(1, steps + 1)
    runs = [(k, str(order), seen) for k, order in product(learners, range(orders))]
    pra = _pra(runs, features, seeds, readout, own or {})
    hidden = pra[pra["readout"] != ""].assign(metric="accuracy")
    rng = np.random.default_rng(3)
    tables = [pra]
    for j in seen:
        values = rng.uniform(0.5, 0.95, len(hidden))
        tables.append(
            hidden.assign(
                value=values,
                task_position=j,
                task=f"t{j}",
            )
        )
    return pd.concat(tables, ignore_index=True)


def _pra(runs, features, seeds, readout, own):
    rng = np.random.default_rng(2)
    rows = []
    for learner, order, steps in runs:
        layers = enumerate(own.get(learner, features), start=1)
        for seed, t, (depth, feature) in product(range(seeds), steps, layers):
            layer = {"tasks_seen": t, "depth": depth, "feature": feature}
            layer |= {"metric": "pra", "readout": readout * (feature != "output")}
            value = rng.uniform(0.5, 0.95)
            rows.append(_measured(value, learner, order, seed, **layer))
    return new_table("measurements", rows)


def metrics(learners, *, tasks=5, seeds=3, head="single", **means):
    """Return the metrics of a study; means: of a metric, by learner, in place of random ones."""
    rng = np.random.default_rng(0)

    def numbered(*names, first=1):
        return [f"{k}[{i}]" for k, i in product(names, range(first, tasks + 1))]

    names = {
        "diaz_rodriguez": [*CRITERIA, *numbered("fixed_accuracy")],
        "chaudhry": numbered("average_accuracy", "intransigence"),
        "kemker": numbered("alpha_base", "alpha_new", "alpha_all"),
    }
    names["chaudhry"] += numbered("forgetting", first=2)
    names["kemker"] += ["omega_base", "omega_new", "omega_all"]
    rows = []
    for learner, paper in product(learners, names):
        for metric in names[paper]:
            of_head = "" if metric in ("ms", "sss", "ce") else head
            mean = means.get(metric, {}).get(learner, rng.random())
            std = 0.1 * rng.random() if seeds > 1 else math.nan
            rows.append((learner, paper, metric, of_head, mean, std, seeds, "", ""))
    return new_table("metrics", rows)


def learner(name, kind="", *, per_class=None, total=None, sampling=""):
    """Return what a learner is, and what it stores, as a row of learners.csv."""
    return name, kind or name, per_class, total, sampling


def kinds(names):
    """Return learners.csv of learners that store nothing."""
    return new_table("learners", map(learner, names))


def stored(names):
    """Return what learners store by their names: er10-uniform, a replay of 10 per class."""
    sizes = ((name, name[2:4]) for name in names)
    return [
        learner(
            name,
            "er",
            per_class=int(size),
            sampling=name[5:],
        )
        for name, size in sizes
        if size.isdecimal()
    ]


def diagnostics(learners, features, *, tasks=5, orders=2, seeds=2, own=None):
    """Return the diagnostics of learners and controls; ranks are shares of 8 units."""
    rng = np.random.default_rng(3)
    controls = ("offline", "untrained")
    rows = []
    for learner in (*learners, *controls):
        names = [""] if learner in controls else map(str, range(orders))
        runs = product(names, range(seeds))
        layers = enumerate((own or {}).get(learner, features), start=1)
        seen = tasks * (learner != "untrained")
        for (order, seed), (depth, feature) in product(runs, layers):
            row = (learner, order, seed, seen, feature, depth)
            rows.append((*row, "units", 8))
            rows.append((*row, "dead", rng.random()))
            rows.append((*row, "rank", 8 * rng.random()))
            rows.append((*row, "cka.untrained", rng.random()))
            rows.append((*row, "cka.offline", rng.random()))
    return new_table("diagnostics", rows)


def note(learner, text, *, feature="", seed=0, readout=""):
    """Return a note on a run, as a row of notes.csv."""
    return learner, "0", seed, feature, text, 5, readout


def notes(*rows):
    return new_table("notes", rows)


def layers(
    learners, features, *, tasks=5, readouts=("retrain",), seeds=3, split=(), own=None
):
    """Return layers.csv: missing accuracy grows with depth and for the first tasks.

    Intervals are 4 points either way. The first feature has no room between floor and
    ceiling; split: the readouts measured at all steps in all features, as the output
    always is. At the last position nothing can be forgotten.
    """
    half = math.nan if seeds == 1 else 0.04
    rows = []
    for learner, readout in product(learners, readouts):
        has = (own or {}).get(learner, features)
        positions = [*range(1, tasks + 1), None]
        for depth, position in product(range(1, len(has) + 1), positions):
            every_step = readout in split or depth == len(has)
            layer = (learner, readout, has[depth - 1], depth, position)
            values = _quantities(depth, position, len(has), tasks, every_step)
            for name, value in values.items():
                ends = (value - half, value + 1.5 * half)
                rows.append((*layer, name, value, *ends, seeds, scope(seeds)))
    return new_table("layers", rows)


def _quantities(depth, position, deepest, tasks, every_step):
    deep = depth / deepest
    old = 1 - ((position or tasks / 2) - 1) / tasks
    forgotten = 0.6 * deep**2 * old if position != tasks else 0
    never = 0.1 * old - 0.072
    missing = never + forgotten
    values = {
        "accuracy": 0.95 - missing,
        "floor": 0.95 - (0.001 if depth == 1 else 0.7 * deep),
        "ceiling": 0.95,
        "missing": missing,
        "retained": math.nan if depth == 1 else 1 - missing / (0.7 * deep),
    }
    if every_step:
        if position != tasks:
            values["forgotten"] = forgotten
        values["never_learned"] = never
    if position is None and depth == deepest:
        values["chance"] = 0.1
    return values


def scope(seeds):
    """Return whom intervals speak of."""
    return "training" if seeds > 2 else "network"


def causes(
    learners, features, *, tasks=5, seeds=3, own=None, competing=0.05, half=0.02
):
    """Return causes.csv: pieces by layer, some below 0, which add up to what was lost.

    What a change breaks is more than its share, and what putting it back returns is
    less.
    """
    rng = np.random.default_rng(4)
    rows = []
    for learner in learners:
        has = list(enumerate((own or {}).get(learner, features), start=1))
        values = rng.uniform(-0.3, 0.5, (tasks - 1, len(has))) / len(has)
        shares = [*enumerate(values, start=1), (None, values.mean(axis=0))]
        for position, pieces in shares:
            lost = pieces.sum()
            cells = [
                ("", None, "forgotten", lost + competing, ""),
                ("", None, "lost", lost, ""),
                ("", None, "competition", competing, ""),
            ]
            for (depth, feature), share in zip(has, pieces, strict=True):
                ends = (share, share + 0.03, share - 0.03)
                shown = [
                    Shown(
                        low=x - half,
                        high=x + 1.5 * half,
                        margin=0.01,
                    )
                    for x in ends
                ]
                words = (verdict(shown[1], shown[2], shown[0]), "", "")
                names = ("attributed", "broken", "restored")
                marks = zip(names, ends, words, strict=True)
                cells += [(feature, depth, *value) for value in marks]
            for feature, depth, name, x, word in cells:
                layer = (learner, "accuracy", feature, depth, position, name)
                interval = (x, x - half, x + 1.5 * half, seeds, 0.001)
                rows.append((*layer, *interval, word, scope(seeds)))
    return new_table("causes", rows)


BOTH = {"readouts": ("retrain", "retrain@4", "linear", "linear:5")}


def study(
    learners, features, *, tasks=3, seeds=2, orders=2, head="single", own=None, sweep=()
):
    """Return all tables of a study; sweep: `stored` learners, which have only scores."""
    runs = {"seeds": seeds, "orders": orders}
    steps = {"tasks": tasks, "own": own}
    measurements = pd.concat(
        [
            rows(
                [*learners, "offline"],
                features,
                head=head,
                **runs,
                **steps,
            ),
            courses(
                learners,
                features,
                steps=tasks,
                own=own,
                **runs,
            ),
            levels(
                features,
                steps=tasks,
                seeds=seeds,
            ),
        ],
        ignore_index=True,
    )
    return StudyTables(
        measurements=measurements,
        summary=summarize(measurements),
        metrics=metrics(
            [*learners, *sweep],
            tasks=tasks,
            seeds=seeds,
            head=head,
        ),
        learners=new_table("learners", [*map(learner, learners), *stored(sweep)]),
        layers=layers(
            learners,
            features,
            split=("linear",),
            seeds=seeds,
            **steps,
            **BOTH,
        ),
        diagnostics=diagnostics(learners, features, **steps, **runs),
        causes=causes(
            learners,
            features,
            seeds=seeds,
            **steps,
        ),
    )


def write(folder, measurements, metrics=None, **tables):
    """Write a study's tables; learners are those `stored`, those of layers may be left out."""
    folder.mkdir(exist_ok=True)
    metrics = new_table("metrics") if metrics is None else metrics
    learners = new_table("learners", stored(metrics["learner"].unique()))
    tables |= {"measurements": measurements, "summary": summarize(measurements)}
    tables |= {"metrics": metrics, "learners": learners}
    for name, table in tables.items():
        write_table(folder / f"{name}.csv", name, table)
    return folder
