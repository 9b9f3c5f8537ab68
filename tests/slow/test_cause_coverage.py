"""Intervals of causes cover the truth, in made-up studies and of one network."""

from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest

from probe.rewinding.estimates import Estimation, Quantities
from probe.rewinding.hybrids import Rewinding
from probe.rewinding.shapley import Coalitions
from probe.tables.schemas import TRAINING
from tests.laws.one_network import OLD, coverage as coverage_of_one, is_wrong, values_of
from tests.laws.trained import trained
from tests.probe.analysis.made_up import ORDERS, TASKS, World, drawn

pytestmark = pytest.mark.soak

LAYERS = ("conv1", "conv2", "output")
SETS = [*chain.from_iterable(combinations(LAYERS, m) for m in range(4))]
WORLD = World(last=(0,) * TASKS, floor=0, ceiling=0)


def level(names, position):
    """Return what is known of a task: conv1 has no part in it, the others help each other."""
    older = 1 - position / TASKS  # the earlier task has lost more
    gains = 0.9 * ("conv2" in names) + 0.5 * ("output" in names)
    return older * (gains + 0.4 * ({"conv2", "output"} <= set(names))) - 0.6 * older


def truth():
    """Return the true value of each layer's quantities, over all positions."""
    v = {}
    by_mask = {}
    for names in SETS:
        levels = [level(names, j) for j in range(1, TASKS)]
        v[names] = np.array([WORLD.chance(each) for each in levels])
        by_mask[sum(1 << LAYERS.index(name) for name in names)] = v[names]
    design = Coalitions(players=3)
    values = {
        "attributed": design.attributed(by_mask),
        "restored": design.alone(by_mask),
        "broken": design.last(by_mask),
    }
    true = {("", "lost"): float((v[LAYERS] - v[()]).mean())}
    for quantity, rows in values.items():
        for layer, row in zip(LAYERS, rows, strict=True):
            true[layer, quantity] = float(row.mean())
    return true


def rows(seeds, examples, chance):
    """Yield the rows of one study on its way of training, over all positions."""
    tasks = np.arange(examples) % TASKS
    right = drawn(WORLD, examples, seeds, chance)
    place_of = np.argsort(ORDERS, axis=1)[:, tasks]

    def measured(names):
        levels = np.array([level(names, j) for j in range(1, TASKS + 1)])
        return right(levels[place_of]).astype(float).reshape(-1)

    scores = {names: measured(names) for names in SETS}
    result = Rewinding(scores=scores, of_task=np.full(len(scores[()]), True))
    shape = (seeds, len(ORDERS), examples)
    values = {k: x.reshape(shape) for k, x in result.quantities(LAYERS).items()}
    estimation = Estimation(
        tasks=tasks,
        orders=ORDERS,
        is_accuracy=True,
        margin=0.01,
        trainings=seeds,
    )
    for row in estimation.rows(
        dict.fromkeys(range(1, TASKS), Quantities(values=values))
    ):
        if row["scope"] == TRAINING and row["task_position"] is None:
            yield row


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_causes_cover_the_truth_in_95_percent(seeds):
    """The shares in docs/believe.md are of 1,000 studies of each size."""
    shares, wrong = coverage(seeds, studies=150)
    # Within four standard errors of 95 %.
    assert min(shares.values()) > 0.88
    # Two ends, and at most 2.5 % a side.
    assert max(wrong.values()) <= 0.1 * 150


def coverage(seeds, studies, examples=500):
    """Return the shares of intervals that hold the truth, and the wrong verdicts by layer."""
    true = truth()
    chance = np.random.default_rng(seeds)
    covered = Counter()
    wrong = Counter(dict.fromkeys(LAYERS, 0))
    for _ in range(studies):
        for row in rows(seeds, examples, chance):
            key = row["feature"], row["quantity"]
            if key in true:
                covered[key] += row["low"] <= true[key] <= row["high"]
                wrong[key[0]] += is_wrong(row["verdict"], key[0], true)
    return {key: covered[key] / studies for key in true}, wrong


@pytest.mark.parametrize("n", [30, 300])
def test_intervals_of_one_network_cover_the_value_of_all_examples_in_93_percent(n):
    """The shares in docs/right.md are of 1,000 test sets."""
    networks = trained("cnn", 0, cumulative=False)
    values = values_of(networks[4], networks[5], OLD)
    table = coverage_of_one(values, n, draws=400)
    assert table.covered.mean() > 0.93
    # Within four standard errors.
    assert table.covered.min() > 0.89
    assert table.wrong.max() < 0.05
