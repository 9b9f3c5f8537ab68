"""Data that `Examples.of` cannot read: one sentence each, with the remedy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from probe.errors import InputError
from probe.examples import Examples

X, Y = torch.zeros(6, 3), torch.arange(6)
PICTURE = Image.new("RGB", (4, 4))
MIXED = {"a": X[0], "label": 1, "labels": 1}


class Broken(Dataset[Any]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, at: int) -> Any:
        if at == 4:
            raise OSError("picture 4 is gone")
        return X[at], at


class BrokenFlow(IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield X[0], 0
        raise RuntimeError("the line is dead")


class Own(Dataset[Any]):
    """A dataset of the user's own that says what is wrong itself."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: int) -> Any:
        raise InputError("unzip the pictures first")


def one_hot(rows: int) -> TensorDataset:
    return TensorDataset(X, torch.eye(6)[:, :rows])


CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    # What is no data at all.
    "a number": (3, {}, "the data are of type int, expected a Dataset, a DataLoader, or anything"),
    "nothing": (None, {}, "the data are of type NoneType, expected a Dataset"),
    "several splits": ({"train": 1, "test": 2}, {}, "'train', 'test': give one of them, as data["),
    "no examples": ([], {}, "the data hold no examples"),
    "an empty flow": (iter(()), {}, "the data hold no examples"),
    "fewer than a batch": (
        DataLoader(TensorDataset(X, Y), batch_size=7, drop_last=True),
        {},
        "the data hold no examples",
    ),
    # What raises.
    "raises": (
        Broken(),
        {},
        "item 4 of the data cannot be read (OSError: picture 4 is gone): corr",
    ),
    "raises in a loader": (DataLoader(Broken(), batch_size=2), {}, "item 2 of the data cannot be"),
    "raises in a flow": (BrokenFlow(), {}, "item 1 of the data cannot be read (RuntimeError: the"),
    "says it": (Own(), {}, "unzip the pictures first"),
    "not collated": (DataLoader([(PICTURE, 0)]), {}, "item 0 of the data cannot be read (TypeErr"),
    # No pairs.
    "a tensor": (X, {}, "item 0 of the data: a Tensor is neither a pair (x, y) nor a mapping with"),
    "no label": ([(X[0],)], {}, "a tuple of 1 is neither a pair"),
    "three parts": (TensorDataset(X, X, Y), {}, "a tuple of 3 is neither a pair (x, y) nor a mapp"),
    "a text": ("words", {}, "a str is neither a pair"),
    # Names.
    "two labels": (
        [MIXED],
        {},
        "which of a, label, labels is the label is not clear: name it with",
    ),
    "no such label": (
        [{"a": X[0], "y": 1}],
        {},
        "which of a, y is the label is not clear: name it",
    ),
    "unknown label": (
        [MIXED],
        {"label": "lable"},
        "unknown column 'lable': did you mean 'label' or",
    ),
    "empty mapping": ([{}], {}, "a mapping of nothing: give x and a label"),
    "only a label": ([{"label": 1}], {}, "x is empty: give a tensor, or several"),
    "unknown column": (
        [{"ab": X[0], "label": 1}],
        {"columns": ["abc"]},
        "unknown column 'abc': did",
    ),
    "unknown single": ([{"ab": X[0], "label": 1}], {"columns": "abc"}, "unknown column 'abc': did"),
    "no columns": ([{"a": X[0], "label": 1}], {"columns": []}, "x is empty: give a tensor, or sev"),
    "columns of a pair": (
        [(X[0], 1)],
        {"columns": "a"},
        "x is a Tensor without columns: leave out",
    ),
    "label of a pair": ([(X[0], 1)], {"label": "a"}, "it has no names, so that none is 'a': leave"),
    # What is no tensor.
    "a picture": (
        [(PICTURE, 1)],
        {},
        "x is of type Image, or has it within, expected tensors: give",
    ),
    "pictures": ([((X[0], PICTURE), 1)], {}, "x is of type Image, or has it within, expected tens"),
    "a list": ([([1.0, 2.0], 1)], {}, "x is of type float, or has it within, expected tensors"),
    "an empty tuple": ([((), 1)], {}, "x is empty: give a tensor, or several"),
    "texts": ([(np.array(["a"]), 1)], {}, "x is of type ndarray, or has it within, expected tens"),
    "objects": (
        [({"a": np.array([{}])}, 1)],
        {},
        "columns of x hold no tensors, 'a' (ndarray): ch",
    ),
    "sparse": (
        [(X[0].to_sparse(), 1)],
        {},
        "x is a sparse or nested tensor: pad it, or give x.to_",
    ),
    # Labels.
    "a fraction": (
        [(X[0], 1.0)],
        {},
        "a label is of type float, expected a whole number: number th",
    ),
    "a word": (
        [(X[0], "cat")],
        {},
        "a label is of type str, expected a whole number: number the c",
    ),
    "none": ([(X[0], None)], {}, "a label is of type NoneType, expected a whole number"),
    "words": (DataLoader([(X[0], "cat")]), {}, "a label is of type tuple, expected a whole number"),
    "fractions": (
        DataLoader(TensorDataset(X, Y.float())),
        {},
        "labels are float32 (1,), expected wh",
    ),
    "float64": (
        TensorDataset(X, Y.double()),
        {},
        "labels are float64 (), expected whole numbers: giv",
    ),
    "one-hot": (
        one_hot(6),
        {},
        "labels are float32 (6,), expected one number: give y.argmax(-1) of",
    ),
    "one-hot in batches": (
        DataLoader(one_hot(6), batch_size=2),
        {},
        "labels are float32 (2, 6), expected one number for each example: give y.argmax(-1)",
    ),
    "a column": (TensorDataset(X, Y[:, None]), {}, "expected one number: give y.squeeze(-1)"),
    "a batch for one": (
        [(X, Y)],
        {},
        "labels are int64 (6,), expected one number: give y.argmax(-1)",
    ),
    # What does not fit together.
    "shapes": (
        [(torch.zeros(3, 8), 0), (torch.zeros(3, 9), 1)],
        {},
        "item 1 of the data: x is float32 (3, 9), and float32 (3, 8) in those before: pad or crop",
    ),
    "shapes in a loader": (
        DataLoader([(X[0], 0), (X[0, 1:], 1)], batch_size=2),
        {},
        "cannot be read",
    ),
    "types": (
        [(X[0], 0), (X[0].double(), 1)],
        {},
        "x is float64 (3,), and float32 (3,) in those bef",
    ),
    "one and two": (
        [(X[0], 0), ((X[0], X[0]), 1)],
        {},
        "x is (float32 (3,), float32 (3,)), and floa",
    ),
    "other names": (
        [({"a": X[0]}, 0), ({"b": X[0]}, 1)],
        {},
        "x is {b: float32 (3,)}, and {a: float32 (3,)} in those before",
    ),
    "a short batch": (
        DataLoader([(X[:2], Y[:3])], batch_size=None),
        {},
        "a batch has 3 labels, but x of shape (2, 3): giv",
    ),
    # What is asked for.
    "limit 0": ([(X[0], 0)], {"limit": 0}, "limit must be a number of examples from 1, got 0"),
    "limit 1.5": (
        [(X[0], 0)],
        {"limit": 1.5},
        "limit must be a number of examples from 1, got 1.5",
    ),
    "budget": ([(X[0], 0)], {"budget": -1}, "budget must be a number of bytes, got -1"),
    "no folder": ([(X[0], 0)], {"scratch": 5}, "scratch must be the path of a folder, got 5"),
    "a size": ([(X[0], 0)], {"budget": "1GB"}, "budget must be a number of bytes, got '1GB'"),
}


@pytest.mark.parametrize(("data", "how", "says"), CASES.values(), ids=CASES)
def test_one_sentence(data: Any, how: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as error:
        Examples.of(data, **how)
    assert "\n\n" not in str(error.value)
