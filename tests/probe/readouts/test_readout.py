"""Readouts by name: refusals, and nearest means and neighbours against scikit-learn."""

import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from probe.errors import InputError
from probe.extensions import readout
from probe.readouts import readout as readouts
from probe.readouts.matrix import FeatureMatrix
from probe.readouts.readout import READOUTS, Knn, Linear, Ncm, read


def matrices(n=60, m=20):
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(n + m) % 3
    x = torch.randn(3, 5, generator=draw)[y] * 3 + torch.randn(n + m, 5, generator=draw)
    return FeatureMatrix(x[:n], "t"), y[:n], FeatureMatrix(x[n:], "t"), y[n:]


@pytest.mark.parametrize("name", READOUTS)
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_is_refused(name, value):
    train, y, test, _ = matrices()
    for matrix, which in ((train, "training"), (test, "test")):
        before = matrix.values[3, 2].item()
        matrix.values[3, 2] = value
        with pytest.raises(InputError, match=f"NaN or infinite for some {which} examples"):
            read(READOUTS[name].readout(), train, y, test, 3)
        matrix.values[3, 2] = before


def test_what_does_not_fit_is_refused():
    train, y, test, _ = matrices()
    with pytest.raises(InputError, match="61 neighbours, but there are 60"):
        read(Knn(k=61), train, y, test, 3)
    with pytest.raises(InputError, match="59 labels for 60 examples"):
        read(Ncm(), train, y[1:], test, 3)
    with pytest.raises(InputError, match="0 to 2, expected 0 to 1"):
        read(Ncm(), train, y, test, 2)
    with pytest.raises(InputError, match="5 values for training examples and 4"):
        read(Ncm(), train, y, FeatureMatrix(test.values[:, 1:], "t"), 3)


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (None, "predicts NoneType, expected a class for each of 20"),
        (torch.zeros(3).long(), r"predicts \(3,\), expected a class"),
        (torch.zeros(20), "predicts torch.float32, expected int64 from 0 to 2"),
        (torch.full((20,), 3), "expected int64 from 0 to 2"),
    ],
)
def test_predictions_that_are_no_classes_are_refused(predicted, message):
    @readout("mine")
    class Mine:
        def predict(self, x, y, test, classes):
            return predicted

    train, y, test, _ = matrices()
    with pytest.raises(InputError, match=message):
        read(Mine(), train, y, test, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(C=0.0), "C: expected more than 0, got 0"),
        (lambda: Linear(C=torch.inf), "C: expected "),
        (lambda: Knn(k=0), "k: expected 1 or more, got 0"),
        (lambda: Knn(k=2.5), "k: expected a whole number"),
        (lambda: Ncm(k=2), "unknown key"),
        (lambda: Linear(tolerance=1e-9), "unknown key"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def clouds(n=700, width=9, classes=4):
    draw = torch.Generator().manual_seed(0)
    centres = torch.randn(classes, width, generator=draw)
    y = torch.randint(classes, (n,), generator=draw)
    x = (centres[y] + 1.2 * torch.randn(n, width, generator=draw)) * torch.logspace(-3, 3, width)
    x[:, 4] = 2.5  # a constant column
    return x[:500], y[:500], x[500:], y[500:]


def scaled(x, test):
    scaler = StandardScaler().fit(x.double().numpy())
    return scaler.transform(x.double().numpy()), scaler.transform(test.double().numpy())


def test_nearest_class_mean_is_scikit_learns():
    x, y, test, truth = clouds()
    train, later = scaled(x, test)
    expected = NearestCentroid().fit(train, y.numpy()).predict(later)
    ours = Ncm().predict(x, y, test, 4)
    assert ours.tolist() == expected.tolist()
    assert (ours == truth).double().mean() > 0.5


@pytest.mark.parametrize("k", [1, 10, 500])
@pytest.mark.parametrize("block", [64, 8192])
def test_k_nearest_is_scikit_learns_whatever_fits_in_memory(k, block, monkeypatch):
    monkeypatch.setattr(readouts, "_COLUMNS", block)
    x, y, test, _ = clouds()
    train, later = scaled(x, test)
    expected = KNeighborsClassifier(n_neighbors=k).fit(train, y.numpy()).predict(later)
    assert Knn(k=k).predict(x, y, test, 4).tolist() == expected.tolist()


def test_all_examples_as_neighbours_give_the_largest_class_and_ties_the_lowest():
    x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    test = torch.tensor([[-1.0], [4.0]])
    assert Knn(k=4).predict(x, torch.tensor([2, 1, 1, 2]), test, 3).tolist() == [1, 1]
    assert Knn(k=4).predict(x, torch.tensor([2, 2, 1, 2]), test, 3).tolist() == [2, 2]
