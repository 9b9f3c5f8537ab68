"""Nearest means and neighbours against scikit-learn and against plain distances."""

import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from probe.readouts import readout
from probe.readouts.readout import Knn, Ncm


def data(n=700, width=9, classes=4, seed=0):
    draw = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, width, generator=draw)
    y = torch.randint(classes, (n,), generator=draw)
    x = (centres[y] + 1.2 * torch.randn(n, width, generator=draw)) * torch.logspace(-3, 3, width)
    x[:, 4] = 2.5  # a constant column
    return x[:500], y[:500], x[500:], y[500:]


def scaled(x, test):
    scaler = StandardScaler().fit(x.double().numpy())
    return scaler.transform(x.double().numpy()), scaler.transform(test.double().numpy())


def test_nearest_class_mean_is_scikit_learns():
    x, y, test, truth = data()
    train, later = scaled(x, test)
    expected = NearestCentroid().fit(train, y.numpy()).predict(later)
    ours = Ncm().predict(x, y, test, 4)
    assert ours.tolist() == expected.tolist()
    assert (ours == truth).double().mean() > 0.5


@pytest.mark.parametrize("k", [1, 10, 500])
@pytest.mark.parametrize("block", [64, 8192])
def test_k_nearest_is_scikit_learns_whatever_fits_in_memory(k, block, monkeypatch):
    monkeypatch.setattr(readout, "_COLUMNS", block)
    x, y, test, _ = data()
    train, later = scaled(x, test)
    expected = KNeighborsClassifier(n_neighbors=k).fit(train, y.numpy()).predict(later)
    assert Knn(k=k).predict(x, y, test, 4).tolist() == expected.tolist()


def test_all_examples_as_neighbours_give_the_largest_class_and_ties_the_lowest():
    x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    test = torch.tensor([[-1.0], [4.0]])
    assert Knn(k=4).predict(x, torch.tensor([2, 1, 1, 2]), test, 3).tolist() == [1, 1]
    assert Knn(k=4).predict(x, torch.tensor([2, 2, 1, 2]), test, 3).tolist() == [2, 2]
