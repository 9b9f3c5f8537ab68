"""Hand-made tables of a run: what a report is made of, with numbers that are chosen."""

import math
from itertools import chain, product

import pandas as pd

from probe.tables.table_file import all_tables, new_table

T, SEEDS = 3, 5
LAYERS = ("conv1", "conv2", "output")
SHARES = {"conv1": 0.05, "conv2": 0.5, "output": 0.2}


def stated(feature, verdict, value, statement="forgets", **changes):
    row = {
        "learner": "ft",
        "readout": "linear",
        "feature": feature,
        "statement": statement,
        "depth": 1 + LAYERS.index(feature),
        "verdict": verdict,
        "margin": 0.01,
        "value": value,
        "low": value - 0.01,
        "high": value + 0.02,
        "seeds": SEEDS,
        "scope": "training",
    }
    return row | changes


def by_seed(row, values=()):
    """Return the values of a statement's seeds, by default all that of its mean."""
    return [
        row | {"seed": k, "value": x}
        for k, x in enumerate(values or [row["value"]] * SEEDS)
    ]


def layer(feature, quantity, value, task_position=None):
    return {
        "learner": "ft",
        "readout": "linear",
        "feature": feature,
        "task_position": task_position,
        "value": value,
        "low": value - 0.01,
        "high": value + 0.02,
        "seeds": SEEDS,
        "scope": "training",
        "depth": 1 + LAYERS.index(feature),
        "quantity": quantity,
    }


def layers(missing, room=0.5):
    """Return what layers lack, on each task and on all, with a floor so far below the ceiling."""
    found = []
    for feature, lacking in missing.items():
        each = {
            "missing": lacking,
            "floor": 0.9 - room,
            "ceiling": 0.9,
            "accuracy": 0.9 - lacking,
        }
        for name, value in each.items():
            places = (None, *range(1, T + 1)) if name == "missing" else (None,)
            found += [
                layer(feature, name, value, task_position) for task_position in places
            ]
    return new_table("layers", found)


def rows(learner="ft", orders=2, seeds=SEEDS):
    """Return the accuracies of a learner's output."""
    return new_table(
        "measurements",
        [
            {
                "scenario": "toy",
                "network": "net",
                "learner": learner,
                "order": str(order),
                "seed": seed,
                "tasks_seen": t,
                "head": "single",
                "metric": "accuracy",
                "task_position": j,
                "task": str((j - 1 - order) % T),
                "value": math.nan if t == 0 else 0.5 + 0.02 * t - 0.01 * j,
            }
            for order, seed, t, j in product(
                range(orders), range(seeds), range(T + 1), range(1, T + 1)
            )
        ],
    )


def with_layers():
    """Return accuracies of the output, and of layers after each task, with floor and ceiling.

    conv2 loses 10 points of a task with each task that follows; conv1 loses nothing.
    """
    runs = [("ft", "0", t) for t in range(T + 1)]
    of_layers = [
        {
            "scenario": "toy",
            "network": "net",
            "learner": name,
            "order": order,
            "seed": 0,
            "tasks_seen": t,
            "feature": feature,
            "depth": depth,
            "metric": "accuracy",
            "task_position": j,
            "task": str(j - 1),
            "readout": "linear",
            "value": 0.9 - 0.1 * (depth - 1) * max(0, t - j) * (name == "ft"),
        }
        for name, order, t in [*runs, ("untrained", "", 0), ("offline", "", T)]
        for depth, feature in enumerate(LAYERS[:-1], 1)
        for j in range(1, T + 1)
    ]
    return pd.concat(
        [rows(orders=1), new_table("measurements", of_layers)], ignore_index=True
    )


def cause(feature, quantity, value, **cells):
    depth = 1 + LAYERS.index(feature) if feature in LAYERS else None
    return {
        "learner": "ft",
        "score": "accuracy",
        "feature": feature,
        "depth": depth,
        "quantity": quantity,
        "value": value,
        "low": value - 0.01,
        "high": value + 0.02,
        "seeds": 5,
        "scope": "training",
        **cells,
    }


def causes(verdicts=("none", "costs", "repairs"), competition=0.0, **cells):
    total = sum(SHARES.values())
    result = [
        cause("", "forgotten", total + competition, **cells),
        cause("", "competition", competition, **cells),
    ]
    for (feature, share), verdict in zip(SHARES.items(), verdicts, strict=True):
        result += [
            cause(feature, "attributed", share, verdict=verdict, **cells),
            cause(feature, "restored", share / 2, **cells),
            cause(feature, "broken", 2 * share, **cells),
        ]
    return new_table("causes", result)


def tables(statements, missing, room=0.5, orders=2, **others):
    """Return the tables of a run; others: in place of these."""
    seeds = chain.from_iterable(map(by_seed, statements))
    found = {
        "measurements": rows(orders=orders),
        "layers": layers(missing, room),
        "statements": new_table("statements", statements),
        "statement_seeds": new_table("statement_seeds", seeds),
    }
    return all_tables(**found | others)
