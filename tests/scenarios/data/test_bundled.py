"""Data that scikit-learn brings along: all there, and scaled by what may be known of them."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from scenarios.data.datasets import BUNDLED, load


@pytest.fixture(scope="module")
def tumours():
    return load("breast_cancer")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_need_no_folder_and_are_within_0_and_1(name):
    data = load(name)
    assert data.name == name
    for half in (data.train, data.test):
        assert half.x.dtype == torch.float32
        assert 0 <= float(half.x.min()) <= float(half.x.max()) <= 1
        assert half.y.unique().tolist() == list(range(data.classes))


def test_tumours_are_vectors_split_80_to_20_within_each_class(tumours):
    assert (tumours.train.x.shape, tumours.test.x.shape) == ((455, 30), (114, 30))
    train, test = tumours.train.y.bincount(), tumours.test.y.bincount()
    assert (train + test).tolist() == [212, 357]
    assert (test - (train + test) / 5).abs().max() < 1


def test_tumours_are_scaled_by_the_range_of_the_training_data_alone(tumours):
    table, labels = load_breast_cancer(return_X_y=True)
    rows = train_test_split(np.arange(569), test_size=0.2, stratify=labels, random_state=0)
    low, high = table[rows[0]].min(0), table[rows[0]].max(0)
    scaled = (table - low) / (high - low)
    for half, places in zip((tumours.train, tumours.test), rows, strict=True):
        np.testing.assert_allclose(half.x.numpy(), scaled[places].clip(0, 1), atol=1e-6)
        assert half.y.tolist() == labels[places].tolist()
    assert (scaled[rows[1]] < 0).any(), "some test values are beyond the range, and cut off"
    assert (scaled[rows[1]] > 1).any()


def test_tumours_are_told_apart_by_a_linear_classifier(tumours):
    (x, y), (x_test, y_test) = (
        (half.x.numpy(), half.y.numpy()) for half in (tumours.train, tumours.test)
    )
    assert LogisticRegression().fit(x, y).score(x_test, y_test) > 0.93
