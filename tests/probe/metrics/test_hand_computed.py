"""Every matrix metric on one asymmetric 3-task matrix, worked out by hand as exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from probe.metrics import chaudhry, diaz_rodriguez, gem, kemker
from probe.metrics.matrix import AccuracyMatrix

TENTHS = np.array([[2, 1, 6], [8, 3, 2], [9, 6, 3], [4, 7, 10]])
R = AccuracyMatrix(TENTHS / 10)
REFERENCE = AccuracyMatrix.square([[0.9, 0.0, 0.0], [0.5, 0.8, 0.0], [0.6, 0.4, 0.9]])
IDEAL = 0.9
SIZES = [10, 30, 20]

EXPECTED = {
    "GEM ACC": (lambda: gem.acc(R), Fraction(4 + 7 + 10, 30)),
    "GEM BWT": (lambda: gem.bwt(R), Fraction((4 - 8) + (7 - 6), 20)),
    "GEM FWT": (lambda: gem.fwt(R), Fraction((3 - 1) + (3 - 6), 20)),
    "A": (lambda: diaz_rodriguez.accuracy(R), Fraction(8 + 9 + 6 + 4 + 7 + 10, 60)),
    "BWT": (lambda: diaz_rodriguez.bwt(R), Fraction((9 - 8) + (4 - 8) + (7 - 6), 30)),
    "REM": (lambda: diaz_rodriguez.rem(R), 1 - Fraction(2, 30)),
    "BWT+": (lambda: diaz_rodriguez.bwt_plus(R), Fraction(0)),
    "FWT": (lambda: diaz_rodriguez.fwt(R), Fraction(3 + 2 + 3, 30)),
    "A_1": (lambda: chaudhry.average_accuracy(R, 1), Fraction(8, 10)),
    "A_2": (lambda: chaudhry.average_accuracy(R, 2), Fraction(9 + 6, 20)),
    "A_3": (lambda: chaudhry.average_accuracy(R, 3), Fraction(4 + 7 + 10, 30)),
    "F_2": (lambda: chaudhry.forgetting(R, 2), Fraction(8 - 9, 10)),
    "F_3": (lambda: chaudhry.forgetting(R, 3), Fraction((9 - 4) + (6 - 7), 20)),
    "I_1": (lambda: chaudhry.intransigence(R, REFERENCE, 1), Fraction(9 - 8, 10)),
    "I_2": (lambda: chaudhry.intransigence(R, REFERENCE, 2), Fraction(8 - 6, 10)),
    "I_3": (lambda: chaudhry.intransigence(R, REFERENCE, 3), Fraction(9 - 10, 10)),
    "alpha_base, 2": (lambda: kemker.alpha_base(R, 2), Fraction(9, 10)),
    "alpha_base, 3": (lambda: kemker.alpha_base(R, 3), Fraction(4, 10)),
    "alpha_new, 2": (lambda: kemker.alpha_new(R, 2), Fraction(6, 10)),
    "alpha_new, 3": (lambda: kemker.alpha_new(R, 3), Fraction(10, 10)),
    "alpha_all, 2": (lambda: kemker.alpha_all(R, 2), Fraction(9 + 6, 20)),
    "alpha_all, 3, tasks of 10, 30, 20 examples": (
        lambda: kemker.alpha_all(R, 3, SIZES),
        Fraction(10 * 4 + 30 * 7 + 20 * 10, 600),
    ),
    "Omega_base": (lambda: kemker.omega_base(R, IDEAL), Fraction(9 + 4, 20) / Fraction(9, 10)),
    "Omega_new": (lambda: kemker.omega_new(R), Fraction(6 + 10, 20)),
    "Omega_all, equal tasks": (
        lambda: kemker.omega_all(R, IDEAL),
        (Fraction(9 + 6, 20) + Fraction(4 + 7 + 10, 30)) / 2 / Fraction(9, 10),
    ),
    "Omega_all, tasks of 10, 30, 20 examples": (
        lambda: kemker.omega_all(R, IDEAL, SIZES),
        (Fraction(10 * 9 + 30 * 6, 400) + Fraction(10 * 4 + 30 * 7 + 20 * 10, 600))
        / 2
        / Fraction(9, 10),
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_metric_has_the_value_worked_out_by_hand(name):
    metric, by_hand = EXPECTED[name]
    assert metric() == pytest.approx(float(by_hand), abs=1e-12)


def test_backward_transfer_above_zero_is_bwt_plus_and_leaves_rem_at_one():
    improving = AccuracyMatrix.square([[0.5, 0.1], [0.6, 0.7]])
    assert diaz_rodriguez.bwt_plus(improving) == pytest.approx(0.1)
    assert diaz_rodriguez.rem(improving) == 1
