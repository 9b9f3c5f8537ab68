"""Bins of equal width against scikit-learn; cuts by description length against published ones."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import KBinsDiscretizer

from probe.errors import InputError
from probe.redundancy.bins import equal_width, minimum_description
from probe.redundancy.fcbf import non_redundant
from scenarios.data.datasets import Location, load

# What Weka and R's package discretization give for Fisher's iris.
IRIS_CUTS = ([5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75])


def entropy(labels) -> float:
    p = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(p * np.log2(p)).sum())


def plain_cuts(x, y) -> list[float]:
    """Fayyad & Irani's cuts of one feature, by their formula, between any two of its values."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    places = [k for k in range(1, len(x)) if x[k - 1] < x[k]]
    costs = [
        round((k * entropy(y[:k]) + (len(y) - k) * entropy(y[k:])) / len(y), 12)
        for k in places
    ]
    if not places:
        return []
    k = places[int(np.argmin(costs))]
    S, S1, S2 = ((len(set(part.tolist())), entropy(part)) for part in (y, y[:k], y[k:]))
    delta = np.log2(3 ** S[0] - 2) - (S[0] * S[1] - S1[0] * S1[1] - S2[0] * S2[1])
    if S[1] - min(costs) <= (np.log2(len(y) - 1) + delta) / len(y):
        return []
    return [*plain_cuts(x[:k], y[:k]), (x[k - 1] + x[k]) / 2, *plain_cuts(x[k:], y[k:])]


@pytest.mark.parametrize("bins", [3, 256])
def test_equal_width_is_that_of_scikit_learn(bins):
    x = np.random.default_rng(0).normal(size=(500, 4)) * [1, 10, 0.01, 1] + [
        0,
        5,
        0,
        100,
    ]
    peer = KBinsDiscretizer(bins, encode="ordinal", strategy="uniform", subsample=None)
    assert (equal_width(x, bins) == peer.fit_transform(x)).all()


def test_description_length_cuts_iris_as_published():
    x, y = load_iris(return_X_y=True)
    expected = [
        np.digitize(column, cuts) for column, cuts in zip(x.T, IRIS_CUTS, strict=True)
    ]
    assert (minimum_description(x, y) == np.stack(expected, axis=1)).all()


def test_description_length_is_the_formula_on_real_images():
    x, y = load_digits(return_X_y=True)
    x, y = x[:600, ::5], y[:600]
    expected = [np.digitize(column, plain_cuts(column, y)) for column in x.T]
    assert (minimum_description(x, y) == np.stack(expected, axis=1)).all()
    assert np.max(expected) >= 2


def test_mnist_has_the_39_non_redundant_features_of_the_paper():
    """Kemker 2018, table S9; with bins of equal width there are a few more."""
    folder = Path(os.environ.get("PROBE_DATA") or "/nonexistent")
    if not (folder / "MNIST").is_dir():
        pytest.skip("PROBE_DATA names no folder with MNIST")
    train = load("mnist", Location(folder)).train
    x, y = train.x.flatten(1).numpy(), train.y.numpy()
    assert len(non_redundant(minimum_description(x, y), y)) == 39
    assert len(non_redundant(equal_width(x, 10), y)) == 45


def test_what_cannot_be_put_into_bins_is_refused():
    with pytest.raises(InputError, match="2 to 256 bins, not 257"):
        equal_width(np.zeros((3, 2)), 257)
