"""What a layer kept: laws at both ends; `tests/laws` has the plain loops."""

from dataclasses import replace

import numpy as np

from probe.analysis.intervals import mean_of, mean_over_examples
from probe.analysis.quantities import Terms, quantities
from probe.analysis.variance import Design

TASKS = np.repeat([0, 1, 2], [20, 40, 30])
ORDERS = np.array(
    [
        [0, 1, 2],
        [1, 2, 0],
        [2, 0, 1],
    ]
)
S = 4


def draw(level, *shape, seed=0):
    chance = np.random.default_rng(seed)
    return chance.random((S, *shape, 90)) < level


AFTER = {
    1: draw(0.8, 3),
    2: draw(0.7, 3, seed=1),
    3: draw(0.5, 3, seed=2),
}


def table(**changes):
    terms = Terms(
        tasks=TASKS,
        orders=ORDERS,
        after=AFTER,
        floor=draw(0.3, seed=3),
        ceiling=draw(0.95, seed=4),
    )
    return quantities(replace(terms, **changes))


def test_missing_is_the_sum_of_its_parts_to_the_last_bit():
    for seed in range(20):
        after = {t: draw(0.9 - t / 7, 3, seed=seed + t) for t in AFTER}
        got = table(after=after)
        value = {key: quantity.value for key, quantity in got.items()}
        for place in (1, 2):
            parts = value["never_learned", place] + value["forgotten", place]
            assert value["missing", place] == parts
        assert value["missing", 3] == value["never_learned", 3]


def test_where_only_the_ends_were_measured_nothing_is_called_forgotten():
    got = table(after={0: draw(0.3, 3), 3: draw(0.5, 3)})
    # At the last position the last row is that of the task just learned.
    positions = {}
    for quantity, position in got:
        positions.setdefault(quantity, []).append(position)
    assert positions["never_learned"] == positions["acquired"] == [3]
    assert not [name for name in positions if name.startswith("forgotten")]


def test_intervals_speak_of_a_training_from_three_on_and_else_of_these_networks():
    """Seeds that only retrain one network vary, too, though they are no trainings."""
    ceiling = draw(0.8)
    right = draw(0.6, seed=1)
    e = ceiling * 1.0 - right
    after = {3: np.repeat(right[:, None], 3, axis=1)}
    design = Design(np.full(90, 1 / 90), TASKS)
    cases = {
        None: mean_of,
        3: mean_of,
        2: mean_over_examples,
        1: mean_of,
    }
    for trainings, mean in cases.items():
        terms = Terms(
            tasks=TASKS,
            orders=ORDERS,
            after=after,
            ceiling=ceiling,
            trainings=trainings,
        )
        got = quantities(terms)["missing", None]
        expected = mean(design, e)
        assert (got.low, got.high) == (expected.low, expected.high)
        assert terms.of_training == (trainings in (None, 3))


def test_one_network_that_is_right_on_all_examples_may_be_wrong_on_others():
    right = np.ones((1, 3, 90), bool)
    got = table(
        after=dict.fromkeys(AFTER, right),
        floor=None,
        ceiling=right[:, 0],
    )
    accuracy = got["accuracy", None]
    forgotten = got["forgotten", 1]
    assert accuracy.low < accuracy.high == 1
    assert forgotten.low < 0 < forgotten.high


def test_no_interval_of_a_difference_leaves_what_is_possible():
    ceiling = np.ones((S, 90), bool)
    ceiling[1] = False
    got = table(ceiling=ceiling)["missing", None]
    assert got.value < got.high == 1
