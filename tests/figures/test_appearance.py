from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from figures.appearance import learner_appearances, strategy_appearances

WITHOUT_SAMPLES = {"finetune": "Finetune", "ewc": "EWC", "ewc_online": "EWC++", "si": "SI"}
WITHOUT_SAMPLES |= {"rwalk": "RWalk", "lwf": "LwF"}
KNOWN = {
    **{"offline": "Offline", "cumulative": "Cumulative", "er": "ER", "gem": "GEM"},
    **{"icarl": "iCaRL", "icarl_hybrid1": "iCaRL-hb1", "pathnet": "PathNet", "fel": "FEL"},
    **{"geppnet": "GeppNet", "geppnet_stm": "GeppNet+STM"},
    **WITHOUT_SAMPLES,
    **{f"{name}-s": f"{label}-S" for name, label in WITHOUT_SAMPLES.items()},
}
OTHERS = [f"own{k}" for k in range(14)]


def matrix(text):
    return np.array(text.split(), float).reshape(3, 3)


# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": matrix(
        "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998"
    ),
    "deuteranopia": matrix(
        "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881"
    ),
}
TO_XYZ = matrix(
    "0.4124564 0.3575761 0.1804375 0.2126729 0.7151522 0.0721750 0.0193339 0.1191920 0.9503041"
)
DISTINCT = 15.0
"""CIE76 distance that tells two lines apart at a glance; 2.3 is just noticeable side by side."""


def lab(color, seen_through=VISION["normal"]):
    """CIE Lab (D65) of an sRGB color as someone with that vision sees it."""
    srgb = np.array(to_rgb(color))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen_through @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a, b, vision):
    return float(np.linalg.norm(lab(a, VISION[vision]) - lab(b, VISION[vision])))


@pytest.mark.parametrize("vision", VISION)
def test_any_two_learners_can_be_told_apart(vision):
    for a, b in combinations(learner_appearances([*KNOWN, *OTHERS]).values(), 2):
        apart = distance(a.color, b.color, vision) >= DISTINCT
        assert apart or (mark(a) != mark(b) and a.line != b.line), (a, b)


def mark(each):
    return each.marker, each.filled


def test_in_black_and_white_the_marker_alone_tells():
    marks = [mark(each) for each in learner_appearances([*KNOWN, *OTHERS]).values()]
    assert len(set(marks)) == len(marks) == 36


def test_known_learners_have_their_name_in_print():
    assert {name: each.label for name, each in learner_appearances(KNOWN).items()} == KNOWN


@pytest.mark.parametrize("name", WITHOUT_SAMPLES)
def test_with_samples_a_learner_keeps_color_and_shape_but_not_line_and_fill(name):
    plain, stored = learner_appearances([name, f"{name}-s"]).values()
    assert (stored.color, stored.marker) == (plain.color, plain.marker)
    assert stored.line != plain.line
    assert (plain.filled, stored.filled) == (True, False)


@pytest.mark.parametrize("vision", VISION)
def test_strategies_are_told_apart_by_color_and_by_marker(vision):
    known = ["uniform", "plane_distance", "entropy", "mean_of_features"]
    for a, b in combinations(strategy_appearances([*known, "fifo"]).values(), 2):
        assert mark(a) != mark(b)
        assert distance(a.color, b.color, vision) >= DISTINCT or "Fifo" in (a.label, b.label)


def test_distances_are_cie_labs_and_see_what_a_color_blind_reader_does_not():
    assert lab("white") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("red") == pytest.approx([53.24, 80.09, 67.20], abs=0.01)
    red, green = "#a05000", "#657800"
    assert distance(red, green, "normal") > 2 * DISTINCT
    assert distance(red, green, "deuteranopia") < DISTINCT


def test_an_appearance_depends_neither_on_the_company_nor_on_the_order():
    alone = learner_appearances(["er"])["er"]
    assert learner_appearances(["zeta", "finetune", "er"])["er"] == alone
    drawn = learner_appearances(OTHERS)
    assert len({(each.color, each.marker, each.line) for each in drawn.values()}) == len(OTHERS)
    assert learner_appearances(OTHERS[::-1]) == drawn
    # More than there are spare ones are still drawn.
    assert len(learner_appearances([f"own{k}" for k in range(40)])) == 40
