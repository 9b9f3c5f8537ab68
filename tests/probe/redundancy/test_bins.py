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
IRIS_CUTS = (
    [5.55, 6.15],
    [2.95, 3.35],
    [2.45, 4.75],
    [0.8, 1.75],
)


def entropy(labels):
    _, counts = np.unique(labels, return_counts=True)
    p = counts / len(labels)
    bits = p * np.log2(p)
    return float(-bits.sum())


def described(labels):
    """The number of classes times their entropy."""
    return len(set(labels)) * entropy(labels)


def plain_cuts(x, y):
    """Fayyad & Irani's cuts of one feature, by their formula, between any two of its values."""
    order = np.argsort(x, kind="stable")
    x = x[order]
    y = y[order]
    N = len(y)
    cost_of_cut = {}
    for k in range(1, N):
        if x[k - 1] < x[k]:
            below = k * entropy(y[:k])
            above = (N - k) * entropy(y[k:])
            cost_of_cut[k] = round((below + above) / N, 12)
    if not cost_of_cut:
        return []
    k = min(cost_of_cut, key=cost_of_cut.get)
    before = entropy(y)
    change = described(y) - described(y[:k]) - described(y[k:])
    ways = 3 ** len(set(y)) - 2
    delta = np.log2(ways) - change
    least = (np.log2(N - 1) + delta) / N
    if before - cost_of_cut[k] <= least:
        return []
    return [
        *plain_cuts(x[:k], y[:k]),
        (x[k - 1] + x[k]) / 2,
        *plain_cuts(x[k:], y[k:]),
    ]


@pytest.mark.parametrize("bins", [3, 256])
def test_equal_width_is_that_of_scikit_learn(bins):
    x = np.random.default_rng(0).normal(size=(500, 4))
    x *= [1, 10, 0.01, 1]
    x += [0, 5, 0, 100]
    peer = KBinsDiscretizer(
        bins,
        encode="ordinal",
        strategy="uniform",
        subsample=None,
    )
    assert (equal_width(x, bins) == peer.fit_transform(x)).all()


def test_description_length_cuts_iris_as_published():
    x, y = load_iris(return_X_y=True)
    expected = list(map(np.digitize, x.T, IRIS_CUTS))
    bins = np.stack(expected, axis=1)
    assert (minimum_description(x, y) == bins).all()


@pytest.mark.parametrize("n", [8, 150, 600])
def test_description_length_is_the_formula_on_real_images(n):
    """And on values whose parts lack classes."""
    x, y = load_digits(return_X_y=True)
    y = y[:n]
    near = y + np.random.default_rng(0).normal(size=n)
    x = np.column_stack([x[:n, ::5], equal_width(near[:, None], 256)])
    expected = np.zeros(x.shape)
    for k, column in enumerate(x.T):
        expected[:, k] = np.digitize(column, plain_cuts(column, y))
    assert (minimum_description(x, y) == expected).all()
    assert expected.max() >= 2


def test_mnist_has_the_39_non_redundant_features_of_the_paper():
    """Kemker 2018, table S9; with bins of equal width there are a few more."""
    folder = Path(os.environ.get("PROBE_DATA") or "/nonexistent")
    if not (folder / "MNIST").is_dir():
        pytest.skip("PROBE_DATA names no folder with MNIST")
    train = load("mnist", Location(folder)).train
    x = train.x.flatten(1).numpy()
    y = train.y.numpy()
    described_bins = minimum_description(x, y)
    assert len(non_redundant(described_bins, y)) == 39
    equal_bins = equal_width(x, 10)
    assert len(non_redundant(equal_bins, y)) == 45


def test_what_cannot_be_put_into_bins_is_refused():
    with pytest.raises(InputError, match="2 to 256 bins, not 257"):
        equal_width(np.zeros((3, 2)), 257)
