"""Data that `Examples.of` cannot read: one sentence each, with the remedy."""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

from probe.errors import InputError
from probe.examples import Examples

X = torch.zeros(6, 3)
Y = torch.arange(6)
PICTURE = Image.new("RGB", (4, 4))
MIXED = {
    "a": X[0],
    "label": 1,
    "labels": 1,
}
NAMED = {"ab": X[0], "label": 1}


class Broken(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        if at == 4:
            raise OSError("picture 4 is gone")
        return X[at], at


class Lying(Broken):
    def __len__(self):
        return -6


def one_hot(rows):
    return TensorDataset(X, torch.eye(6)[:, :rows])


# The data, how they are read, and the value that the message names.
CASES = [
    ({"train": 1, "test": 2}, {}, "'train', 'test'"),
    (TensorDataset(X[:0], Y[:0]), {}, "no examples"),
    (Broken(), {}, "item 4 of the data cannot be read: OSError: picture 4 is gone"),
    (Lying(), {}, "__len__() should return >= 0"),
    (DataLoader(Lying(), 2), {}, "__len__() should return >= 0"),
    (X, {}, "a tensor without labels"),
    (TensorDataset(X, X, Y), {}, "Examples.of(data, item=('x', 'y', 'task'))"),
    ([MIXED], {}, "a, label, labels"),
    ([MIXED], {"label": "lable"}, "'lable': did you mean 'label'"),
    ([{}], {}, "no columns"),
    ([{"label": 1}], {}, "x is empty"),
    ([NAMED], {"columns": ["abc"]}, "'abc'"),
    ([(X[0], 1)], {"columns": "a"}, "x is a Tensor"),
    ([(X[0], 1)], {"label": "a"}, "'a'"),
    ([(PICTURE, 1)], {}, "type Image"),
    ([({"a": np.array([{}])}, 1)], {}, "'a' (ndarray)"),
    ([(X[0].to_sparse(), 1)], {}, "sparse"),
    ([(X[0], "cat")], {}, "type str"),
    (
        TensorDataset(X, Y.double()),
        {},
        "float64 (), expected one whole number: give y.flatten()",
    ),
    (one_hot(6), {}, "float32 (6,), expected one whole number: give y.long().arg"),
    (
        DataLoader(one_hot(6), 2),
        {},
        "(2, 6), expected one whole number for each example",
    ),
    (
        TensorDataset(X, Y[:, None]),
        {},
        "expected one whole number: give y.flatten().long()",
    ),
    (TensorDataset(X, torch.ones(6, 3)), {}, "float32 (3,)"),
    (
        DataLoader(TensorDataset(X, Y / 2), 2),
        {},
        "no multi-label, regression or segmentation tar",
    ),
    (TensorDataset(X, Y.expand(6, 4, 6)), {}, "int64 (4, 6)"),
    (
        [(X[0], 0), (X[0, 1:], 1)],
        {},
        "item 1 of the data: x is float32 (2,), but float32 (3,) in",
    ),
    (
        [({"a": X[0]}, 0), ({"b": X[0]}, 1)],
        {},
        "{b: float32 (3,)}, but {a: float32 (3,)}",
    ),
    (DataLoader([(X[:2], Y[:3])], None), {}, "3 labels, but x of shape (2, 3)"),
    ([(X[0], 0)], {"limit": 0}, "limit"),
    ([(X[0], 0)], {"budget": -1}, "budget"),
    ([(X[0], 0)], {"scratch": 5}, "scratch"),
]


@pytest.mark.parametrize(
    ("data", "settings", "value"), CASES, ids=[case[2] for case in CASES]
)
def test_data_that_cannot_be_read(
    data,
    settings,
    value,
):
    with pytest.raises(InputError, match=re.escape(value)):
        Examples.of(data, **settings)


def test_item_says_which_part_of_an_item_is_which():
    data = Examples.of(TensorDataset(X, Y % 3, Y // 3), item=("x", "y", "task"))
    assert (data.y.tolist(), data.task.tolist()) == (
        (Y % 3).tolist(),
        (Y // 3).tolist(),
    )
    loader = DataLoader(TensorDataset(Y, X, Y % 3), 4)
    batches = Examples.of(loader, item=("index", "x", "y"))
    assert (batches.y.tolist(), batches.task) == ((Y % 3).tolist(), None)
    for wrong in (("x", "y"), ("x", "index", "task"), ("x", "x", "y")):
        with pytest.raises(InputError, match=re.escape(str(list(wrong)))):
            Examples.of(loader, item=wrong)
