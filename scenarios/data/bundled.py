"""Data sets that scikit-learn brings along: they need no folder."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from probe.examples import Examples
from scenarios.data.arrays import Array


def digits() -> tuple[Examples, Examples]:
    """Return training and test data of 1,797 handwritten digits: images (N, 1, 8, 8) in [0, 1].

    A fixed 80/20 split, stratified by class.
    """
    from sklearn.datasets import load_digits

    x_train, x_test, y_train, y_test = _split(*load_digits(return_X_y=True))
    images = [x.reshape(-1, 1, 8, 8) / 16 for x in (x_train, x_test)]
    return _examples(images[0], y_train), _examples(images[1], y_test)


def breast_cancer() -> tuple[Examples, Examples]:
    """Return training and test data of 569 tumours: vectors (N, 30) in [0, 1].

    The Wisconsin diagnostic data: measurements of cell nuclei; malignant is class 0, benign 1. Each
    feature is scaled by its range in the training data, test values beyond which are cut off. A
    fixed 80/20 split, stratified by class.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import MinMaxScaler

    x_train, x_test, y_train, y_test = _split(*load_breast_cancer(return_X_y=True))
    scaler = MinMaxScaler(clip=True).fit(x_train)
    train, test = map(scaler.transform, (x_train, x_test))
    return _examples(train, y_train), _examples(test, y_test)


def _split(x: Array, y: Array) -> list[Array]:
    from sklearn.model_selection import train_test_split

    split = train_test_split(x, y, test_size=0.2, stratify=y, random_state=0)
    return list(map(np.asarray, split))


def _examples(x: Any, y: Any) -> Examples:
    inputs = np.ascontiguousarray(x, dtype=np.float32)
    return Examples(torch.from_numpy(inputs), torch.as_tensor(y, dtype=torch.int64))
