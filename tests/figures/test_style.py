from itertools import combinations

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from figures import bias, curves, depth, matrix, parts, style
from probe.errors import InputError
from probe.summary import summarise

KNOWN = ["offline", "cumulative", "finetune", "er", "ewc", "si", "lwf", "gem", "rwalk", "icarl"]
OTHERS = [f"own{k}" for k in range(14)]

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
DISTINCT = 15.0
"""CIE76 distance that tells two lines apart at a glance; 2.3 is just noticeable side by side."""


def lab(colour, seen_through=VISION["normal"]):
    """CIE Lab (D65) of an sRGB colour as someone with that vision sees it."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = to_xyz @ np.clip(seen_through @ linear, 0, 1) / to_xyz.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a, b, vision):
    return float(np.linalg.norm(lab(a, VISION[vision]) - lab(b, VISION[vision])))


@pytest.mark.parametrize("vision", VISION)
def test_any_two_learners_can_be_told_apart(vision):
    for a, b in combinations(style.looks(KNOWN + OTHERS).values(), 2):
        apart = distance(a.colour, b.colour, vision) >= DISTINCT
        assert apart or (a.marker != b.marker and a.line != b.line), (a, b)


def test_distances_are_cie_labs_and_see_what_a_colour_blind_reader_does_not():
    assert lab("white") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("red") == pytest.approx([53.24, 80.09, 67.20], abs=0.01)
    red, green = "#a05000", "#657800"
    assert distance(red, green, "normal") > 2 * DISTINCT
    assert distance(red, green, "deuteranopia") < DISTINCT


def test_a_known_learner_looks_the_same_in_any_company():
    alone = style.looks(["er"])["er"]
    assert style.looks(["zeta", "finetune", "er"])["er"] == alone


def test_other_learners_get_distinct_looks_that_do_not_depend_on_their_order():
    drawn = style.looks(OTHERS)
    assert len({(look.colour, look.marker, look.line) for look in drawn.values()}) == len(OTHERS)
    assert style.looks(OTHERS[::-1]) == drawn


def test_more_learners_than_looks_are_still_drawn():
    assert len(style.looks([f"own{k}" for k in range(40)])) == 40


@pytest.mark.parametrize("kind", [depth, bias, matrix, curves])
def test_drawing_and_saving_leave_matplotlibs_settings_alone(kind, study, tmp_path):
    rows = study(["er"], ["conv1", "output"], tasks=2)
    before = dict(matplotlib.rcParams)
    figure = kind.draw(rows if kind in (matrix, curves) else summarise(rows))
    style.save(figure, tmp_path, "one")
    assert dict(matplotlib.rcParams) == before


def test_a_failure_leaves_matplotlibs_settings_alone():
    with matplotlib.rc_context({"font.size": 23.0}):
        before = dict(matplotlib.rcParams)
        with pytest.raises(ZeroDivisionError), style.house_style():
            1 / (matplotlib.rcParams["font.size"] - matplotlib.rcParams["font.size"])
        assert dict(matplotlib.rcParams) == before


def test_a_users_settings_do_not_change_a_figure(study, tmp_path):
    summary = summarise(study(["er"], ["conv1", "output"], tasks=2))
    first = style.save(depth.draw(summary), tmp_path / "a", "depth")
    with matplotlib.rc_context({"font.size": 23.0, "savefig.dpi": 50, "axes.facecolor": "red"}):
        second = style.save(depth.draw(summary), tmp_path / "b", "depth")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_a_figure_that_fails_half_way_keeps_the_old_file_and_leaves_no_other(monkeypatch, tmp_path):
    (tmp_path / "depth.png").write_bytes(b"old")

    def full_disk(self, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        style.save(Figure(), tmp_path, "depth")
    assert [path.name for path in tmp_path.iterdir()] == ["depth.png"]
    assert (tmp_path / "depth.png").read_bytes() == b"old"


def test_a_folder_that_cannot_be_made_is_an_input_error(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(InputError, match="cannot write to"):
        style.save(Figure(), tmp_path / "figures", "depth")


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_dodges_are_even_symmetric_and_nearer_to_their_own_place_than_to_the_next(count):
    offsets = np.array(parts.dodges(count))
    assert offsets + offsets[::-1] == pytest.approx(np.zeros(count))
    assert np.ptp(np.diff(offsets)) < 1e-12 if count > 1 else offsets.tolist() == [0]
    assert abs(offsets).max() < 0.3


@pytest.mark.parametrize("first", [0, 1])
def test_ticks_are_whole_few_and_reach_no_further_than_the_last(first):
    for last in range(first, 300):
        ticks = parts.ticks(first, last)
        assert ticks == sorted(set(ticks))
        assert ticks[0] == first
        assert ticks[-1] <= last
        assert last - ticks[-1] <= (last - first) / 3
        assert len(ticks) <= 11
