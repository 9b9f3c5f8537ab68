"""Toy games, of which it is known what each player does, through `probe.causes`."""

from copy import deepcopy
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import torch
from torch import nn

import probe
from probe.rewinding.estimates import Estimation, Quantities
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.schemas import NETWORK

LAYERS = ("0", "1", "output")
DRAW = torch.Generator().manual_seed(0)
TEST = [(torch.randn(20, 4, generator=DRAW), torch.zeros(20)) for _ in range(2)]


def share_against_ends(restored):
    """Let layer 0 do good alone and last, but harm beside one other."""
    if restored == set(LAYERS):
        return 0.7
    others = 0.6 * (len(restored - {"0"}) > 0)
    beside_one = 0.5 * (len(restored) == 2 and "0" in restored)
    return others - beside_one + 0.1 * (restored == {"0"})


# What is gained by putting a set of layers back, and the verdicts on the layers.
GAMES = {
    "additive": (
        lambda s: 0.3 * ("0" in s) + 0.2 * ("1" in s),
        ["costs", "costs", "none"],
    ),
    "below the margin": (lambda s: 0.005 * ("0" in s), ["none", "none", "none"]),
    "reversed": (lambda s: -0.3 * ("0" in s), ["helps", "none", "none"]),
    "AND": (lambda s: 0.4 * (len(s & {"0", "1"}) > 0), ["repairs", "repairs", "none"]),
    "OR": (lambda s: 0.4 * (s >= {"0", "1"}), ["breaks", "breaks", "none"]),
    "opposed": (
        lambda s: 0.3 * (len(s & {"0", "1"}) == 1),
        ["depends", "depends", "none"],
    ),
    "null": (lambda s: 0.7, ["none", "none", "none"]),
    "any two repair": (lambda s: 0.9 * (len(s) >= 2), ["together"] * 3),
    "share against both ends": (share_against_ends, ["depends", "costs", "costs"]),
}


@pytest.mark.parametrize("name", GAMES)
def test_each_game_has_its_verdicts(name):
    gain, expected = GAMES[name]
    last = nn.Sequential(
        nn.Linear(4, 4),
        nn.Linear(4, 4),
        nn.Linear(4, 2),
    )
    before = deepcopy(last)
    for layer in before:
        layer.bias.data += 1

    def score(network, x, y):
        pairs = zip(LAYERS, network, before, strict=True)
        restored = {name for name, now, old in pairs if torch.equal(now.bias, old.bias)}
        return torch.full(
            (len(x),),
            float(gain(restored)),
            dtype=torch.float64,
        )

    table = probe.causes(
        {1: before, 2: last},
        TEST,
        score,
        ["0", "1"],
        margin=0.01,
    )
    assert table.verdict.tolist() == expected
    assert table.share.sum() == pytest.approx(gain(set(LAYERS)) - gain(set()))


def test_intervals_over_test_examples_are_those_of_so_many_seeds_whatever_they_are():
    """Of three trainings as of one, if their scores are averaged."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 2, (3, 1, 60)).astype(float)
    of_network = []
    for trainings in (1, 3):
        estimation = Estimation(
            tasks=np.arange(60) % 2,
            orders=np.array([[0, 1]]),
            is_accuracy=False,
            margin=0.01,
            trainings=trainings,
        )
        names = ("attributed", "broken", "restored")
        values = {("a", name): scores for name in names}
        rows = estimation.rows({1: Quantities(values=values)})
        ends = [
            (row["quantity"], row["low"], row["high"])
            for row in rows
            if row["scope"] == NETWORK
        ]
        of_network.append(ends)
    assert of_network[0] == of_network[1]


ABOVE, UNSURE = (Shown(low=low, high=0.4, margin=0.01) for low in (0.1, -0.1))


@pytest.mark.parametrize(
    ("broken", "restored", "share", "expected"),
    [
        (ABOVE, UNSURE, ABOVE, "harms"),
        (ABOVE, ABOVE, UNSURE, "harms"),
        (UNSURE, UNSURE, ABOVE, "open"),
    ],
)
def test_what_is_not_shown_is_never_read_as_nothing(broken, restored, share, expected):
    assert verdict(broken, restored, share) == expected


ENDS = list(combinations_with_replacement(range(-3, 4), 2))
MIRRORED = {"repairs": "breaks", "breaks": "repairs"}


def holds(word, margin, broken, restored, share):
    """Return whether what a verdict claims is so of three values."""
    ends = (broken, restored)
    match word:
        case "none":
            return max(abs(broken), abs(restored), abs(share)) <= margin
        case "together":
            return max(abs(broken), abs(restored)) <= margin and share != 0
        case "costs":
            return min(*ends, share) > 0
        case "helps":
            return max(*ends, share) < 0
        case "repairs":
            return restored > 0 and broken <= max(margin - 1, 0)
        case "breaks":
            return broken > 0 and restored <= max(margin - 1, 0)
        case "harms":
            return max(ends) > 0
        case "depends":
            return min(*ends, share - margin) <= 0 <= max(*ends, share + margin)
    return word == "open"


@pytest.mark.parametrize("margin", [0, 2])
def test_a_verdict_holds_of_every_value_within_its_intervals(margin):
    intervals = [Shown(low=low, high=high, margin=margin) for low, high in ENDS]
    for shown in product(intervals, repeat=3):
        word = verdict(*shown)
        ends = [(each.low, each.high) for each in shown]
        for values in product(*ends):
            assert holds(word, margin, *values), (word, shown)
        broken, restored, share = shown
        assert verdict(restored, broken, share) == MIRRORED.get(word, word)


@pytest.mark.parametrize("margin", [0, 2])
def test_what_is_known_exactly_has_its_verdict(margin):
    for values in product(range(-3, 4), repeat=3):
        shown = [Shown(low=value, high=value, margin=margin) for value in values]
        assert verdict(*shown) == of_values(margin, *values), values


def of_values(margin, broken, restored, share):
    """Return the verdict where the three values are known; `none` takes a margin."""
    if margin and max(abs(broken), abs(restored)) <= margin:
        return "none" if abs(share) <= margin else "together"
    least = max(margin, 1)
    harmful = {broken >= least, restored >= least}
    helpful = {broken <= -least, restored <= -least}
    if harmful == {True}:
        return "costs" if share >= least else "depends"
    if helpful == {True}:
        return "helps" if share <= -least else "depends"
    if True in harmful & helpful:
        return "depends"
    if True in harmful:
        by_itself = "breaks" if broken >= least else "repairs"
        return "depends" if share <= -least else by_itself
    return "depends" if True in helpful and share >= least else "open"
