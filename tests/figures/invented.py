"""Invented tables of any shape: the numbers are random, and the same every time."""

import math
from itertools import product

import numpy as np
import pandas as pd

from figures.tables import StudyTables
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.summary import summarize
from probe.tables.table_file import new_table, records, write_table

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
    rng, names, found = (
        np.random.default_rng(0),
        {p: f"t{p}" for p in range(1, tasks + 1)},
        [],
    )
    for learner in learners:
        offline = learner == "offline"
        steps = (0, tasks) if offline else range(tasks + 1)
        cells = [
            {
                "metric": "accuracy",
                "head": head,
                "tasks_seen": t,
                "task_position": p,
                "task": name,
            }
            for t, (p, name) in product(steps, names.items())
        ]
        layers = list(enumerate((own or {}).get(learner, features), start=1))
        for depth, feature in layers[-1 if offline else 0 :]:
            layer = {"feature": feature, "depth": depth, "tasks_seen": tasks}
            f1 = [
                {"metric": "f1", "task_position": p, "task": name}
                for p, name in names.items()
            ]
            cells += [layer | cell for cell in ({"metric": "pra"}, *f1)]
        runs = product(range(seeds), [""] if offline else map(str, range(orders)))
        found += [
            _measured(rng.random(), learner, o, s, **c) for s, o in runs for c in cells
        ]
    return new_table("measurements", found)


def _measured(value, learner, order, seed, **cell):
    study = {"scenario": "digits", "network": "cnn3"}
    return {
        **study,
        "learner": learner,
        "order": order,
        "seed": seed,
        **cell,
        "value": value,
    }


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
    runs = [
        (k, str(order), range(1, steps + 1))
        for k in learners
        for order in range(orders)
    ]
    pra, rng = _pra(runs, features, seeds, readout, own or {}), np.random.default_rng(3)
    hidden = pra[pra["readout"] != ""].assign(metric="accuracy")
    cells = [
        hidden.assign(
            value=rng.uniform(0.5, 0.95, len(hidden)), task_position=j, task=f"t{j}"
        )
        for j in range(1, steps + 1)
    ]
    return pd.concat([pra, *cells], ignore_index=True)


def _pra(runs, features, seeds, readout, own):
    rng = np.random.default_rng(2)
    rows = [
        _measured(
            *(rng.uniform(0.5, 0.95), learner, order, seed),
            **{"tasks_seen": t, "depth": depth, "feature": feature, "metric": "pra"},
            readout="" if feature == "output" else readout,
        )
        for learner, order, steps in runs
        for seed, t in product(range(seeds), steps)
        for depth, feature in enumerate(own.get(learner, features), start=1)
    ]
    return new_table("measurements", rows)


def metrics(learners, *, tasks=5, seeds=3, head="single", **means):
    """Return the metrics of a study; means: of a metric, by learner, in place of random ones."""
    rng, numbers = np.random.default_rng(0), range(1, tasks + 1)
    alphas = [f"alpha_{of}[{i}]" for of in ("base", "new", "all") for i in numbers]
    chaudhry = [
        f"{k}[{i}]" for k in ("average_accuracy", "intransigence") for i in numbers
    ]
    fixed = [f"fixed_accuracy[{i}]" for i in numbers]
    names = {
        "diaz_rodriguez": [*CRITERIA, *fixed],
        "chaudhry": [*chaudhry, *(f"forgetting[{k}]" for k in numbers[1:])],
        "kemker": [*alphas, "omega_base", "omega_new", "omega_all"],
    }
    rows = [
        {
            **{"learner": learner, "paper": paper, "metric": metric, "seeds": seeds},
            "head": "" if metric in ("ms", "sss", "ce") else head,
            "mean": means.get(metric, {}).get(learner, rng.random()),
            "std": 0.1 * rng.random() if seeds > 1 else math.nan,
        }
        for learner in learners
        for paper, metrics in names.items()
        for metric in metrics
    ]
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
        learner(name, "er", per_class=int(size), sampling=name[5:])
        for name, size in sizes
        if size.isdecimal()
    ]


def diagnostics(learners, features, *, tasks=5, orders=2, seeds=2, own=None):
    """Return the diagnostics of learners and controls; ranks are shares of 8 units."""
    rng, controls, found = np.random.default_rng(3), ("offline", "untrained"), []
    for learner in (*learners, *controls):
        runs = product(
            [""] if learner in controls else map(str, range(orders)), range(seeds)
        )
        layers = enumerate((own or {}).get(learner, features), start=1)
        names = ("units", "dead", "rank", "cka.untrained", "cka.offline")
        seen = tasks * (learner != "untrained")
        for (order, seed), (depth, feature), metric in product(runs, layers, names):
            value = (
                8
                if metric == "units"
                else rng.random() * (8 if metric == "rank" else 1)
            )
            run = {"learner": learner, "order": order, "seed": seed, "tasks_seen": seen}
            layer = {"depth": depth, "feature": feature, "metric": metric}
            found.append({**run, **layer, "value": value})
    return new_table("diagnostics", found)


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
    rows = [
        {
            **{
                "learner": learner,
                "readout": readout,
                "feature": feature,
                "depth": depth,
            },
            **{"task_position": position, "quantity": name, "seeds": seeds},
            **{
                "value": value,
                "low": value - half,
                "high": value + half,
                "scope": scope(seeds),
            },
        }
        for learner, readout in product(learners, readouts)
        for has in [(own or {}).get(learner, features)]
        for depth, feature in enumerate(has, start=1)
        for position in [*range(1, tasks + 1), None]
        for name, value in _quantities(
            depth,
            position,
            len(has),
            tasks,
            every_step=readout in split or feature == has[-1],
        ).items()
    ]
    return new_table("layers", rows)


def _quantities(depth, position, deepest, tasks, *, every_step):
    deep, old = depth / deepest, 1 - ((position or tasks / 2) - 1) / tasks
    forgotten = {"forgotten": 0.6 * deep**2 * old} if position != tasks else {}
    never = 0.1 * old - 0.072
    missing = never + forgotten.get("forgotten", 0)
    return {
        "accuracy": 0.95 - missing,
        "floor": 0.95 - (0.001 if depth == 1 else 0.7 * deep),
        "ceiling": 0.95,
        "missing": missing,
        "retained": math.nan if depth == 1 else 1 - missing / (0.7 * deep),
        **(forgotten | {"never_learned": never} if every_step else {}),
        **({"chance": 0.1} if position is None and depth == deepest else {}),
    }


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
        for position, pieces in [
            *enumerate(values, start=1),
            (None, values.mean(axis=0)),
        ]:
            lost = pieces.sum()
            of_all = {
                "forgotten": lost + competing,
                "lost": lost,
                "competition": competing,
            }
            cells = [
                ("", None, quantity, value, "") for quantity, value in of_all.items()
            ]
            for (depth, feature), share in zip(has, pieces, strict=True):
                ends = {
                    "attributed": share,
                    "broken": share + 0.03,
                    "restored": share - 0.03,
                }
                shown = [
                    Shown(low=x - half, high=x + half, margin=0.01)
                    for x in ends.values()
                ]
                word = verdict(shown[1], shown[2], shown[0])
                cells += [
                    (feature, depth, q, x, word if q == "attributed" else "")
                    for q, x in ends.items()
                ]
            rows += [
                (
                    *(
                        learner,
                        "accuracy",
                        f,
                        depth,
                        position,
                        q,
                        x,
                        x - half,
                        x + half,
                        seeds,
                    ),
                    *(0.001, word, scope(seeds)),
                )
                for f, depth, q, x, word in cells
            ]
    return new_table("causes", rows)


def first_layer(learners, feature, *, readouts=("retrain",), seeds=3):
    """Return first_layer.csv: every statement is true from that feature on, "" = of none."""
    statements = ("below_ceiling", "forgets", "learns_less")
    rows = product(learners, readouts, statements)
    return new_table(
        "first_layer", [(*row, feature, feature, seeds, None) for row in rows]
    )


def rows_by(table, *columns):
    """Return the rows of a table, as they are in `records`, by the values of columns."""
    found = {}
    for row in records(table):
        found.setdefault(tuple(getattr(row, column) for column in columns), []).append(
            row
        )
    return found


BOTH = {"readouts": ("retrain", "retrain@4", "linear", "linear:5")}


def study(
    learners, features, *, tasks=3, seeds=2, orders=2, head="single", own=None, sweep=()
):
    """Return all tables of a study; sweep: `stored` learners, which have only scores."""
    runs, steps = {"seeds": seeds, "orders": orders}, {"tasks": tasks, "own": own}
    measurements = pd.concat(
        [
            rows([*learners, "offline"], features, head=head, **runs, **steps),
            courses(learners, features, steps=tasks, own=own, **runs),
            levels(features, steps=tasks, seeds=seeds),
        ],
        ignore_index=True,
    )
    return StudyTables(
        measurements=measurements,
        summary=summarize(measurements),
        metrics=metrics([*learners, *sweep], tasks=tasks, seeds=seeds, head=head),
        learners=new_table("learners", [*map(learner, learners), *stored(sweep)]),
        layers=layers(
            learners, features, split=("linear",), seeds=seeds, **steps, **BOTH
        ),
        first_layer=first_layer(learners, features[1], seeds=seeds, **BOTH),
        diagnostics=diagnostics(learners, features, **steps, **runs),
        causes=causes(learners, features, seeds=seeds, **steps),
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
