import numpy as np
from matplotlib.colors import to_rgb

from figures.appearance import learner_appearances

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


def mark(each):
    return each.marker, each.filled


def test_in_black_and_white_the_marker_alone_tells():
    marks = [mark(each) for each in learner_appearances([*KNOWN, *OTHERS]).values()]
    assert len(set(marks)) == len(marks) == 36


def test_known_learners_have_their_name_in_print():
    assert {name: each.label for name, each in learner_appearances(KNOWN).items()} == KNOWN


def test_an_appearance_depends_neither_on_the_company_nor_on_the_order():
    alone = learner_appearances(["er"])["er"]
    assert learner_appearances(["zeta", "finetune", "er"])["er"] == alone
    drawn = learner_appearances(OTHERS)
    assert len({(each.color, each.marker, each.line) for each in drawn.values()}) == len(OTHERS)
    assert learner_appearances(OTHERS[::-1]) == drawn
    # More than there are spare ones are still drawn.
    assert len(learner_appearances([f"own{k}" for k in range(40)])) == 40
