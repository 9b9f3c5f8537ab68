"""Intervals of causes cover the truth, and statements on layers hold, in made-up studies."""

from collections import Counter
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from probe.by_layer.measurement import put_back
from probe.results.causes import cause_rows
from probe.rewinding.shapley import Coalitions
from probe.tables.cause_text import verdict
from probe.tasks import TestExamples
from tests.probe.analysis.made_up import CLASSES, ORDERS, TASKS, World, drawn, layout

pytestmark = pytest.mark.soak

LAYERS = ("conv1", "conv2", "output")
SETS = [names for m in range(4) for names in combinations(LAYERS, m)]
WORLD = World(last=(0,) * TASKS, floor=0, ceiling=0)
RIGHT_AFTER = 1.6


def level(names, position):
    """Return what is known of a task: conv1 has no part in it, the others help each other."""
    older = 1 - position / TASKS  # the earlier task has lost more
    gains = 0.9 * ("conv2" in names) + 0.5 * ("output" in names)
    return older * (gains + 0.4 * ({"conv2", "output"} <= set(names))) - 0.6 * older


def truth():
    """Return the true value of each layer's quantities, over all positions."""
    places = range(1, TASKS)
    v = {k: np.array([WORLD.chance(level(k, j)) for j in places]) for k in SETS}
    by_mask = {sum(1 << LAYERS.index(name) for name in k): x for k, x in v.items()}
    design = Coalitions(players=3)
    pieces = dict(zip(LAYERS, design.attributed(by_mask).mean(1), strict=True))
    lost = float((v[LAYERS] - v[()]).mean())
    known = {("attributed", name): piece for name, piece in pieces.items()}
    known |= {("restored", k): float((v[k,] - v[()]).mean()) for k in LAYERS}
    return known | {
        ("lost", ""): lost,
        ("forgotten", ""): WORLD.chance(RIGHT_AFTER) - float(v[()].mean()),
        ("competition", ""): WORLD.chance(RIGHT_AFTER) - float(v[LAYERS].mean()),
    }


def study(seeds, examples, chance):
    """Return the finished jobs of one study."""
    where = layout(examples)
    right = drawn(WORLD, where, seeds, chance)
    position_of = 1 + np.argsort(ORDERS, axis=1)[:, where.tasks]

    def measured(levels):
        outcomes = right(np.array(levels)[position_of - 1])
        return np.where(outcomes, where.strata, (where.strata + 1) % CLASSES)

    every = {k: measured([level(k, j) for j in range(1, TASKS + 1)]) for k in SETS}
    at_first = measured([RIGHT_AFTER] * TASKS)
    test = TestExamples(labels=where.strata, tasks=where.tasks)
    for s in range(seeds):
        for o, tasks in enumerate(ORDERS):
            by_set = {put_back(k): x[s, o] for k, x in every.items()}
            rewound = SimpleNamespace(test=test, predicted=by_set, loss=by_set)
            single = {"single": at_first[s, o]}
            learned = SimpleNamespace(test=test, predicted=single, loss=single)
            yield SimpleNamespace(
                job=SimpleNamespace(
                    learner="made", kind="", order=str(o), seed=s, tasks=tasks, task_aware=False
                ),
                rewound=dict.fromkeys(range(1, TASKS), rewound),
                tested=dict.fromkeys(range(1, TASKS), learned),
                features=LAYERS,
                test=test,
            )


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_causes_cover_the_truth_in_95_percent(seeds):
    """The shares in docs/believe.md are of 1,000 studies of each size."""
    shares, wrong = coverage(seeds, studies := 150)
    # Within four standard errors of 95 %.
    assert min(shares.values()) > 0.88
    assert max(wrong.values()) <= 0.06 * studies


def coverage(seeds, studies, examples=500):
    """Return the shares of intervals that hold the truth, and the wrong statements by layer."""
    known, chance = truth(), np.random.default_rng(seeds)
    covered, wrong = Counter(), Counter(dict.fromkeys(LAYERS, 0))
    for _ in range(studies):
        for row in cause_rows(list(study(seeds, examples, chance)), 64):
            key = row["quantity"], row["feature"]
            if row["score"] != "accuracy" or row["task_position"] is not None or key not in known:
                continue
            covered[key] += row["low"] <= known[key] <= row["high"]
            if key[0] == "attributed":
                said = verdict(SimpleNamespace(**row))
                false = {"cost": known[key] <= 0, "gave back": known[key] >= 0}
                wrong[key[1]] += false.get(said, said == "less than 1" and known[key] >= 0.01)
    return {key: covered[key] / studies for key in known}, wrong
