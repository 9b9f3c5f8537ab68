"""Intervals cover the truth as often as they say, in made-up studies of each size.

400 of them in every run of all tests, 1,500 in `make soak`, which allows for less chance.
Seeds, test examples and both together differ by chance, and all models of a study share them; the
truth is known in closed form (tests/probe/analysis/made_up.py).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from probe.analysis.layers import quantities
from probe.analysis.starting import starting_feature
from tests.probe.analysis.made_up import World, differences, layout, study

pytestmark = pytest.mark.slow

LONG = pytest.mark.soak
FORGETS = World(last=(0, 0.1, 0.2, 0.3, 0.6), floor=-0.6, ceiling=1.2)
# Seeds of which the best and worst of three differ by some 2 points.
AGREEING = World(last=(0,) * 5, floor=-0.6, ceiling=1.2, by_seed=0.05)


@pytest.mark.parametrize(
    ("studies", "off"), [(400, 0.03), pytest.param(1500, 0.02, marks=LONG)], ids=["few", "many"]
)
@pytest.mark.parametrize(
    ("examples", "seeds"), [(1000, 3), (1000, 5), (1000, 10), (360, 3)], ids=lambda n: str(n)
)
def test_intervals_of_95_percent_cover_the_truth_in_95_percent(examples, seeds, studies, off):
    truth, where, chance = FORGETS.truth(), layout(examples), np.random.default_rng(0)
    covered: Counter[str] = Counter()
    for _ in range(studies):
        for q in quantities(study(FORGETS, where, seeds, chance), where):
            if q.place is None:
                covered[q.quantity] += q.low <= truth[q.quantity] <= q.high
    shares = {name: covered[name] / studies for name in truth}
    assert len(shares) == 9
    assert {name: share for name, share in shares.items() if abs(share - 0.95) > off} == {}


def starts(world, drops, seeds, margin, studies, examples):
    """How often each layer was found as the start, by its index."""
    where, chance = layout(examples), np.random.default_rng(1)
    w = np.full(examples, 1 / examples)
    return Counter(
        starting_feature(
            differences(world, drops, where, seeds, chance), w, where.strata, margin
        ).index
        for _ in range(studies)
    )


@pytest.mark.parametrize("studies", [300, pytest.param(1000, marks=LONG)])
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("world", [FORGETS, AGREEING], ids=["seeds differ", "seeds agree"])
def test_where_nothing_was_forgotten_at_most_5_percent_find_a_start(world, seeds, studies):
    """Where any difference counts; with a margin of one point, fewer."""
    found = starts(world, [0, 0, 0, 0], seeds, margin=0, studies=studies, examples=360)
    assert found[None] >= 0.95 * studies


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_ten_points_lost_at_the_third_layer_are_mostly_found_there(seeds):
    found = starts(AGREEING, [0, 0, 0.1, 0.1], seeds, margin=0.01, studies=200, examples=1000)
    assert found[2] >= 0.5 * 200
    assert found[0] + found[1] <= 0.05 * 200
