"""What a layer kept: laws at both ends, and by place against plain loops."""

import numpy as np
import pytest

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
    return {(q.quantity, q.place): q for q in quantities(made, layout)}


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


def test_every_quantity_is_what_plain_loops_make_of_it():
    made = outcomes()
    got, rows = table(made), made.rows
    for place in (1, 2, 3):
        each = {t: by_place(rows[t], place).mean() for t in rows}
        b, C = (by_place(x, place).mean() for x in (made.floor, made.ceiling))
        expected = {
            "accuracy": each[3],
            "floor": b,
            "ceiling": C,
            "missing": C - each[3],
            "above_floor": each[3] - b,
            "retained": (each[3] - b) / (C - b),
            "forgotten": max(each[1], each[2], b) - each[3],
            "never_learned": C - max(*each.values(), b),
        }
        if place < 3:
            expected["since_learned"] = each[place] - each[3]
        for name, value in expected.items():
            assert got[name, place].value == pytest.approx(value, rel=1e-12), (name, place)
            assert got[name, place].low < got[name, place].value < got[name, place].high
    assert ("since_learned", 3) not in got


def test_all_tasks_weigh_by_their_test_examples_and_parts_over_time_by_place():
    made = outcomes()
    got = table(made)
    assert got["accuracy", None].value == pytest.approx(made.rows[3].mean())
    assert got["missing", None].value == pytest.approx(made.ceiling.mean() - made.rows[3].mean())
    for name, places in (("forgotten", 3), ("never_learned", 3), ("since_learned", 2)):
        each = [got[name, place].value for place in range(1, places + 1)]
        assert got[name, None].value == pytest.approx(np.mean(each))
