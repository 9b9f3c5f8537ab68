"""Data that `Examples.of` cannot read: one sentence each, with the remedy."""

import re

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from probe.errors import InputError
from probe.examples import Examples

X, Y = torch.zeros(6, 3), torch.arange(6)
MIXED = {"a": X[0], "label": 1, "labels": 1}
NAMED = {"ab": X[0], "label": 1}


class Broken(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        if at == 4:
            raise OSError("picture 4 is gone")
        return X[at], at


def one_hot(rows):
    return TensorDataset(X, torch.eye(6)[:, :rows])


# One case for each place that refuses: the data, how they are read, and the message.
CASES = [
    (3, {}, "the data are of type int, expected a Dataset, a DataLoader, or anything"),
    (DataLoader(TensorDataset(X, Y), 7, drop_last=True), {}, "the data hold no examples"),
    (Broken(), {}, "item 4 of the data cannot be read (OSError: picture 4 is gone): corr"),
    (X, {}, "item 0 of the data: a Tensor is neither a pair (x, y) nor a mapping with"),
    ([MIXED], {}, "cannot tell which of a, label, labels is the label: name it with"),
    ([MIXED], {"label": "lable"}, "unknown column 'lable': did you mean 'label' or"),
    ([({"a": np.array([{}])}, 1)], {}, "columns of x hold no tensors, 'a' (ndarray): ch"),
    ([(X[0].to_sparse(), 1)], {}, "x is a sparse or nested tensor: pad it, or give x.to_"),
    ([(X[0], "cat")], {}, "a label is of type str, expected a whole number: number the c"),
    (DataLoader(one_hot(6), 2), {}, "(2, 6), expected one whole number for each example: give y.l"),
    (DataLoader(TensorDataset(X, Y / 2), 2), {}, "no multi-label, regression or segmentation tar"),
    ([(X[0], 0), (X[0, 1:], 1)], {}, "item 1 of the data: x is float32 (2,), but float32 (3,) in"),
    (DataLoader([(X[:2], Y[:3])], None), {}, "a batch has 3 labels, but x of shape (2, 3): giv"),
    ([(X[0], 0)], {"limit": 0}, "limit must be a number of examples from 1, got 0"),
]


@pytest.mark.parametrize(("data", "how", "says"), CASES, ids=[says[:30] for _, _, says in CASES])
def test_one_sentence(data, how, says):
    with pytest.raises(InputError, match=re.escape(says)) as error:
        Examples.of(data, **how)
    assert "\n\n" not in str(error.value)
