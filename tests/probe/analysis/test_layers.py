"""What a layer kept: laws at both ends; `tests/laws` has the plain loops."""

import numpy as np

from probe.analysis.layers import LayerOutcomes, TestLayout, quantities

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


def test_missing_is_the_sum_of_its_parts_to_the_last_bit():
    for seed in range(20):
        rows = {t: draw(0.9 - t / 7, 3, seed=seed + t) for t in (1, 2, 3)}
        got = table(outcomes(rows=rows))
        for place in (1, 2):
            parts = got["never_learned", place].value + got["forgotten", place].value
            assert got["missing", place].value == parts
        assert got["missing", 3].value == got["never_learned", 3].value


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
