"""Intervals cover the truth as often as they say, in made-up studies of each size.

400 of them in every run of all tests, 1,500 in `make soak`, which allows for less
chance. Seeds, test examples and both together differ by chance, and all models of a
study share them; the truth is known in closed form (tests/probe/analysis/made_up.py).
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from probe.analysis.intervals import Estimate
from probe.analysis.quantities import Terms, quantities
from probe.analysis.statements import beyond_margin, first_layer
from tests.probe.analysis.made_up import World, study

pytestmark = pytest.mark.slow

LONG = pytest.mark.soak
FORGETS = World(last=(0, 0.1, 0.2, 0.3, 0.6), floor=-0.6, ceiling=1.2)
OTHERS = {
    "normal": FORGETS,
    "items": replace(FORGETS, by_seed=0.01),
    "ceiling": World(last=(2.2, 2.2, 2.3, 2.4, 2.5), floor=1.5, ceiling=2.8, early=2.6),
    "seeds": replace(FORGETS, by_seed=0.6),
    "collapsing": replace(FORGETS, collapsing=0.15),
}


@pytest.mark.parametrize(
    ("studies", "off"),
    [(400, 0.03), pytest.param(1500, 0.02, marks=LONG)],
    ids=["few", "many"],
)
@pytest.mark.parametrize(
    ("examples", "seeds"),
    [(360, 3), *(pytest.param(1000, n, marks=LONG) for n in (3, 5, 10))],
    ids=lambda n: str(n),
)
def test_intervals_of_95_percent_cover_the_truth_in_95_percent(
    examples, seeds, studies, off
):
    shares = coverage(FORGETS, examples, seeds, studies)
    assert len(shares) == 13
    assert max(abs(share - 0.95) for share in shares.values()) <= off, shares


@LONG
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("world", OTHERS)
def test_coverage_of_other_studies_is_above_90_percent_unless_seeds_collapse(
    world, seeds
):
    """The shares of the table in docs/believe.md."""
    examples = 200 if world == "items" else 1000
    shares = coverage(OTHERS[world], examples, seeds, 400)
    names = ("missing", "never_learned", "forgotten", "retained")
    least = min(shares[name] for name in names)
    assert (least < 0.9) == (world == "collapsing"), shares


@LONG
@pytest.mark.parametrize("examples", [30, 100, 300, 1000])
@pytest.mark.parametrize("lost", [0, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("gained", [0, 0.02])
def test_intervals_of_one_network_cover_what_it_forgot_in_93_percent(
    examples, lost, gained
):
    """Of the test examples of a task some are lost and others gained."""
    tasks = np.repeat([0, 1], [examples, 2])
    orders = np.array([[0, 1]])
    chance = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        u = chance.random((1, 1, examples + 2))
        learned = u > gained
        last = (u < gained) | (u > 2 * gained + lost)
        terms = Terms(tasks=tasks, orders=orders, after={1: learned, 2: last})
        forgotten = quantities(terms)["forgotten", 1]
        covered += forgotten.low <= lost <= forgotten.high
    assert covered >= 930 - 15  # two standard errors


def coverage(world, examples, seeds, studies):
    """Return the share of studies whose interval holds the truth, by quantity."""
    truth = world.truth()
    chance = np.random.default_rng(0)
    covered = Counter()
    known = Counter()
    for _ in range(studies):
        terms = study(world, examples, seeds, chance)
        for (name, position), q in quantities(terms).items():
            if position is None:
                covered[name] += q.low <= truth[name] <= q.high
                known[name] += q.value == q.value
    # Shares of a difference that is not clearly above 0 are not given.
    return {name: covered[name] / known[name] for name in truth}


@pytest.mark.parametrize("collapsing", [0, 0.15], ids=["normal", "some collapse"])
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(
    "drops", [(0, 0, 10, 50), (0, 0.5, 3, 30), (2, 4, 8, 16)], ids=str
)
def test_at_most_5_percent_of_ranges_miss_the_first_layer(drops, seeds, collapsing):
    """Seeds of a standard deviation of 2 points; those that collapse lose up to 40 more."""
    chance = np.random.default_rng(0)
    n = 2000
    L = len(drops)
    e = np.array(drops) + 2 * chance.standard_normal((n, seeds, L))
    e += (chance.random((n, seeds, 1)) < collapsing) * np.linspace(20, 40, L)
    half = stats.t.isf(0.025, seeds - 1) * stats.sem(e, axis=1)
    values = e.mean(axis=1)
    truth = next(k for k, drop in enumerate(drops) if drop > MARGIN)
    missed = short = 0
    for value, width in zip(values, half, strict=True):
        verdicts = []
        for v, w in zip(value, width, strict=True):
            of_layer = Estimate(value=v, low=v - w, high=v + w, seeds=seeds)
            verdicts.append(beyond_margin(of_layer, MARGIN))
        earliest, latest = first_layer(verdicts)
        if earliest is None:
            missed += 1
            continue
        last = L if latest is None else latest
        missed += not earliest <= truth <= last
        short += latest is not None and latest - earliest < 2
    assert missed <= 0.05 * n
    if not collapsing:
        assert short / n >= SHORT[drops][seeds] - 0.03


MARGIN = 5  # points, between the drops
SHORT = {
    (0, 0, 10, 50): {3: 0.53, 5: 0.98, 10: 1},
    (0, 0.5, 3, 30): {3: 0.33, 5: 0.94, 10: 1},
    (2, 4, 8, 16): {3: 0.11, 5: 0.53, 10: 0.98},
}
"""The measured shares of ranges of one layer or two neighbors; docs/believe.md has them."""
