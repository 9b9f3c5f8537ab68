"""Intervals of causes in one network: how often do they hold the value of all possible
examples?

    python -m tests.laws.one_network --seeds 2 --out one.csv    # 20 minutes on one core

Test sets are drawn with replacement from all digits, so that the value of all of them
is the truth.
"""

from itertools import product

import numpy as np
import pandas as pd

from probe.rewinding.estimates import Estimation, Quantities
from probe.rewinding.parts import OUTPUT
from tests.laws.trained import T, X, Y, compared, of_classes, options, trained

OLD = of_classes((X, Y), range(8))

QUANTITIES = ("attributed", "broken", "restored", "lost")
EFFECTS = [0, 0.005, 0.05, 0.2, 1]


def values_of(before, last, examples):
    """Return the value of each example, (N,), by block and quantity."""
    result, comparison = compared(before, last, examples)
    quantities = result.quantities([*comparison.facts, OUTPUT])
    return {name: value for name, value in quantities.items() if name[1] in QUANTITIES}


def coverage(values, n, draws, seed=0):
    """Draw test sets; return the share of intervals that hold the truth, and it, by quantity."""
    examples = len(values["", "lost"])
    truth = {name: value.mean() for name, value in values.items()}
    estimation = Estimation(
        tasks=np.zeros(n, int),
        orders=np.array([[0, 1]]),
        is_accuracy=True,
        margin=0.01,
        trainings=1,
    )
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(draws):
        drawn = generator.integers(examples, size=n)
        quantities = Quantities(
            values={name: x[None, None, drawn] for name, x in values.items()}
        )
        for row in estimation.rows({1: quantities}):
            if row["task_position"] is not None:
                continue
            name = row["feature"], row["quantity"]
            lines.append(
                {
                    "layer": row["feature"],
                    "quantity": row["quantity"],
                    "truth": truth[name],
                    "covered": row["low"] <= truth[name] <= row["high"],
                    "half": (row["high"] - row["low"]) / 2,
                    "wrong": is_wrong(row["verdict"], row["feature"], truth),
                }
            )
    table = pd.DataFrame(lines)
    return table.groupby(["layer", "quantity"], as_index=False).mean()


def is_wrong(verdict, layer, truth):
    """Return whether a verdict says what is not so."""
    if not layer:
        return False
    share = truth[layer, "attributed"]
    broken = truth[layer, "broken"]
    restored = truth[layer, "restored"]
    wrong = {
        "costs": min(share, broken, restored) <= 0,
        "helps": max(share, broken, restored) >= 0,
        "none": max(abs(share), abs(broken), abs(restored)) > 0.01,
        "repairs": restored <= 0 or broken >= 0.01,
        "breaks": broken <= 0 or restored >= 0.01,
        "harms": max(broken, restored) <= 0,
    }
    return wrong.get(verdict, False)


def main():
    arguments = options(__doc__)
    tables = []
    for architecture, cumulative in product(("cnn", "vit"), (False, True)):
        for seed in range(arguments.seeds):
            networks = trained(architecture, seed, cumulative)
            values = values_of(networks[T - 1], networks[T], OLD)
            for n in (30, 100, 300, 1_000):
                table = coverage(values, n, draws=1_000)
                tables.append(table.assign(architecture=architecture, n=n))
    table = pd.concat(tables)
    table.to_csv(arguments.out, index=False)
    effect = pd.cut(table.truth.abs(), EFFECTS, include_lowest=True)
    for columns in ("quantity", effect):
        rates = table.pivot_table(
            "covered",
            ["architecture", columns],
            "n",
            observed=True,
        )
        print(rates.mul(100).round(1).to_string())
    print(
        table.groupby(["architecture", "n"])[["covered", "half", "wrong"]]
        .mean()
        .to_string()
    )


if __name__ == "__main__":
    main()
