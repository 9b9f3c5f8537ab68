"""Nearest means and neighbours against scikit-learn and against plain distances."""

import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from probe.readouts import neighbors
from probe.readouts.neighbors import k_nearest, nearest_class_mean


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
    ours = nearest_class_mean(x, y, test, 4)
    assert ours.tolist() == expected.tolist()
    assert (ours == truth).double().mean() > 0.5


@pytest.mark.parametrize("k", [1, 2, 10, 500])
@pytest.mark.parametrize("block", [64, 8192])
def test_k_nearest_is_scikit_learns_whatever_fits_in_memory(k, block, monkeypatch):
    monkeypatch.setattr(neighbors, "_COLUMNS", block)
    x, y, test, _ = data()
    train, later = scaled(x, test)
    expected = KNeighborsClassifier(n_neighbors=k).fit(train, y.numpy()).predict(later)
    assert k_nearest(x, y, test, 4, k).tolist() == expected.tolist()


def test_without_standardising_it_would_be_another_answer():
    x, y, test, _ = data()
    plain = KNeighborsClassifier(n_neighbors=10).fit(x.numpy(), y.numpy()).predict(test.numpy())
    assert (k_nearest(x, y, test, 4) != torch.from_numpy(plain)).double().mean() > 0.1


def test_all_examples_as_neighbours_give_the_largest_class_and_ties_the_lowest():
    x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    test = torch.tensor([[-1.0], [4.0]])
    assert k_nearest(x, torch.tensor([2, 1, 1, 2]), test, 3, 4).tolist() == [1, 1]
    assert k_nearest(x, torch.tensor([2, 2, 1, 2]), test, 3, 4).tolist() == [2, 2]


def test_an_absent_class_is_never_predicted():
    x, y, test, _ = data()
    moved = torch.tensor([1, 2, 4, 5])[y]
    expected = torch.tensor([1, 2, 4, 5])[nearest_class_mean(x, y, test, 4)]
    assert torch.equal(nearest_class_mean(x, moved, test, 7), expected)


def test_shuffled_labels_give_chance():
    x, y, test, truth = data(n=4500)
    shuffled = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(1))]
    for found in (k_nearest(x, shuffled, test, 4), nearest_class_mean(x, shuffled, test, 4)):
        assert (found == truth).double().mean() < 0.45  # .25 expected
