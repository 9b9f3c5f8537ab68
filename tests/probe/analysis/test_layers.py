"""What a layer kept: laws at both ends, and by place against plain loops."""

from itertools import product

import numpy as np
import pytest

from probe.analysis.layers import NAMES, LayerOutcomes, TestLayout, quantities
from probe.metrics.chaudhry import forgetting
from probe.metrics.matrix import AccuracyMatrix

TASKS = np.array([0] * 20 + [1] * 40 + [2] * 30)
LAYOUT = TestLayout(
    tasks=TASKS,
    strata=2 * TASKS + np.arange(90) % 2,
    orders=np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
)
S = 4


def draw(level, *shape, seed=0):
    return np.random.default_rng(seed).random((S, *shape, 90)) < level


def outcomes(**changes):
    rows = {1: draw(0.8, 3), 2: draw(0.7, 3, seed=1), 3: draw(0.5, 3, seed=2)}
    made = {"rows": rows, "floor": draw(0.3, seed=3), "ceiling": draw(0.95, seed=4)}
    return LayerOutcomes(**made | changes)


def table(made, layout=LAYOUT):
    return {(q.quantity, q.task_position): q for q in quantities(made, layout)}


def by_place(right, place):
    """The accuracy of each seed at a place: orders weigh the same, whatever the task's size."""
    if right.ndim == 2:
        right = np.repeat(right[:, None], 3, axis=1)
    return np.array(
        [
            np.mean(
                [
                    right[s, o, order[place - 1] == TASKS].mean()
                    for o, order in enumerate(LAYOUT.orders)
                ]
            )
            for s in range(S)
        ]
    )


def test_missing_is_the_sum_of_its_parts_to_the_last_bit():
    for seed in range(20):
        rows = {t: draw(0.9 - t / 7, 3, seed=seed + t) for t in (1, 2, 3)}
        got = table(outcomes(rows=rows))
        for place in (1, 2):
            parts = got["never_learned", place].value + got["forgotten", place].value
            assert got["missing", place].value == parts
        assert got["missing", 3].value == got["never_learned", 3].value


def test_the_maximum_is_chaudhrys_of_each_run_where_nothing_was_known_before():
    rows = {1: draw(0.8, 3), 2: draw(0.8, 3, seed=1), 3: draw(0.5, 3, seed=2)}
    before = {t: LAYOUT.orders[:, t - 1, None] == TASKS for t in (2, 3)}
    rows[1] &= ~(before[2] | before[3])
    rows[2] &= ~before[3]
    each = []
    for s, (o, order) in product(range(S), enumerate(LAYOUT.orders)):
        R = [[rows[t][s, o, task == TASKS].mean() for task in order] for t in (1, 2, 3)]
        each.append(forgetting(AccuracyMatrix.square(R), 3))
    got = table(outcomes(rows=rows))
    assert got["forgotten_max", None].value == pytest.approx(np.mean(each), rel=1e-12)
    assert got["forgotten", None].value < got["forgotten_max", None].value


def test_all_tasks_weigh_by_their_test_examples_and_what_was_forgotten_by_place():
    made = outcomes()
    got = table(made)
    assert got["accuracy", None].value == pytest.approx(made.rows[3].mean())
    learned = np.zeros_like(made.rows[3])
    for (o, order), t in product(enumerate(LAYOUT.orders), (1, 2, 3)):
        own = order[t - 1] == TASKS
        learned[:, o, own] = made.rows[t][:, o, own]
    N, M = made.ceiling.mean() - learned.mean(), made.ceiling.mean() - made.rows[3].mean()
    assert got["never_learned", None].value == pytest.approx(N)
    assert got["forgotten_share", None].value == pytest.approx(1 - N / M)
    each = {n: [got[n, p].value for p in (1, 2, 3) if (n, p) in got] for n in NAMES}
    for name in ("forgotten", "forgotten_max"):
        assert got[name, None].value == pytest.approx(np.mean(each[name]))
    slope = np.polyfit([1, 2, 3], each["never_learned"], 1)[0]
    assert got["never_learned_slope", None].value == pytest.approx(slope)


def test_where_only_the_ends_were_measured_nothing_is_called_forgotten():
    made = outcomes(rows={0: draw(0.3, 3), 3: draw(0.5, 3)})
    # At the last position the last row is that of the task just learned.
    learned = {q for q in table(made) if q[0] in ("never_learned", "acquired")}
    assert learned == {("never_learned", 3), ("acquired", 3)}
    assert not [q for q in table(made) if q[0].startswith("forgotten")]


def test_no_interval_of_a_difference_leaves_what_is_possible():
    ceiling = np.repeat([[True], [False], [True], [True]], 90, axis=1)
    got = table(outcomes(ceiling=ceiling))["missing", None]
    assert got.value < got.high == 1
