"""Feature files: what is written is read again, and every defect is named with its remedy."""

import io

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Location, load
from scenarios.data.feature_files import read_features, write_features

GOOD = {
    "x_train": np.array([[0.5, -2, 3], [1, 0, 0], [4, 5, 6]]),
    "y_train": np.array([0, 1, 1]),
    "x_test": np.array([[7.0, 8, 9], [1, 2, 3]]),
    "y_test": np.array([1, 0]),
}


def written(path, **changes):
    """Write the good arrays with changes; None leaves one out."""
    arrays = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    np.savez(path, **arrays)
    return path


def same(read, given):
    return torch.equal(read.x, given.x) and torch.equal(read.y, given.y)


@pytest.mark.parametrize(("shape", "names"), [((5,), None), ((2, 3, 4), ["ape", "bär", "cat"])])
def test_a_round_trip_changes_nothing(tmp_path, shape, names):
    generator = torch.Generator().manual_seed(0)
    train, test = (
        Examples(torch.randn(n, *shape, generator=generator), torch.arange(n) % 3) for n in (7, 4)
    )
    path = tmp_path / "toy.npz"
    write_features(path, train, test, names)
    assert [entry.name for entry in tmp_path.iterdir()] == ["toy.npz"]
    read = read_features(path)
    assert same(read.train, train)
    assert same(read.test, test)
    assert read.class_names == (tuple(names) if names else ("0", "1", "2"))
    data = load(str(path))
    assert (data.name, data.classes) == ("toy", 3)
    assert same(data.train, train)
    assert same(data.test, test)


@pytest.mark.parametrize("dtype", ["f2", ">f8", "u1", "i8", "?"])
def test_numbers_of_any_dtype_are_read(tmp_path, dtype):
    """From a compressed file with further arrays, of objects too."""
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype)
    arrays = {**GOOD, "x_train": x, "x_test": x[:2], "y_train": np.array([0, 1, 1], ">i2")}
    np.savez_compressed(tmp_path / "a.npz", **arrays, note=np.array([object()], dtype=object))
    read = read_features(tmp_path / "a.npz").train
    assert (read.x.dtype, read.y.dtype) == (torch.float32, torch.int64)
    assert (read.x.tolist(), read.y.tolist()) == ([[0, 1], [1, 1], [1, 0]], [0, 1, 1])


def test_a_relative_name_is_of_the_current_folder_or_else_of_the_data_folder(tmp_path, monkeypatch):
    here, data = tmp_path / "here", tmp_path / "data"
    for folder in (here, data):
        (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(here)
    written(data / "sub" / "a.npz", class_names=np.array(["x", "y"]))
    location = Location(data)
    assert load("sub/a.npz", location).train.x.shape == (3, 3)
    written(here / "sub" / "a.npz", x_train=GOOD["x_train"][:, :1], x_test=GOOD["x_test"][:, :1])
    assert load("sub/a.npz", location).train.x.shape == (3, 1)
    assert load(str(data / "sub" / "a.npz"), location).train.x.shape == (3, 3)
    assert load("sub/a.npz").name == "a"
    both = f"no feature file {here / 'no.npz'} or {data / 'no.npz'}: give its path"
    for name, said in (("no.npz", both), (str(here / "no.npz"), f"{here / 'no.npz'}: give")):
        with pytest.raises(InputError, match=said):
            load(name, location)


NAMES = np.array(["ape", "bee"])
DEFECTS = {
    "lacks two": ({"x_test": None, "y_test": None}, "lacks x_test, y_test .*it holds x_train"),
    "complex": ({"x_train": GOOD["x_train"] + 1j}, "x_train .*complex128, expected real numbers"),
    "flat": ({"x_train": np.ones(3)}, r"x_train .*shape \(3,\), expected \(N, \.\.\.\)"),
    "no features": ({"x_train": np.ones((3, 0))}, r"x_train .*shape \(3, 0\)"),
    "NaN": ({"x_train": np.array([[1], [1], [np.nan]])}, "x_train .*NaN.*in example 2: clean"),
    "too large": ({"x_test": np.array([[1e39], [0]])}, "x_test .*too large .*in example 0"),
    "float labels": ({"y_train": np.array([0.0, 1, 1])}, "y_train .*float64.*as int64"),
    "one-hot labels": ({"y_test": np.eye(2, dtype=int)}, r"y_test .*shape \(2, 2\)"),
    "lengths": ({"y_train": np.array([0, 1])}, "y_train .*2 labels for the 3 examples of x_train"),
    "negative": ({"y_test": np.array([0, -1])}, "y_test .*the label -1: number the classes from 0"),
    "shapes": ({"x_test": np.ones((2, 4))}, r"x_train has shape \(3,\) and one of x_test \(4,\)"),
    "gap": ({"y_train": np.array([0, 1, 2**63 - 1])}, "y_train .*no example of class 2 of"),
    "beyond int64": (
        {"y_test": np.array([0, 1 + 2**63], np.uint64)},
        "y_test .*label 9223372036854775809: number the classes from 0, as int64",
    ),
    "not tested": ({"y_test": np.array([1, 1])}, "y_test .*no example of class 0"),
    "not named": ({"class_names": NAMES[:1]}, "y_train .*label 1, but there are 1 class_names"),
    "one class": ({"y_train": np.zeros(3, int), "y_test": np.zeros(2, int)}, "a single class"),
    "same names": ({"class_names": np.array(["a", "a"])}, "class_names .*different strings"),
    "numbers as names": ({"class_names": np.arange(2)}, r"class_names .*int64.*strings of shape"),
    "objects": ({"x_train": GOOD["x_train"].astype(object)}, "x_train .*objects, .*not loaded"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_names_the_file_the_array_and_the_remedy(tmp_path, defect):
    changes, sentence = DEFECTS[defect]
    path = written(tmp_path / "bad.npz", **changes)
    with pytest.raises(InputError, match=sentence) as refused:
        load(str(path))
    assert str(path) in str(refused.value)
    assert ": " in str(refused.value).replace(str(path), "")


def test_broken_npz_files_are_refused(tmp_path):
    """Empty, of another format, cut off, and altered."""
    buffer = io.BytesIO()
    np.savez(buffer, **GOOD)
    whole = buffer.getvalue()
    at = whole.index(b"x_test") + 160
    altered = whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    for content in (b"", b"x_train,y_train\n1,2\n", whole[:-100], whole[:500], altered):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"bad.npz is not a complete .npz file: write"):
            load(str(tmp_path / "bad.npz"))


def test_nothing_is_written_that_could_not_be_read(tmp_path):
    good = Examples(torch.eye(2), torch.tensor([0, 1]))
    bad = Examples(torch.eye(2), torch.tensor([0, 0]))
    with pytest.raises(InputError, match=r"y_test of .*out.npz has no example of class 1"):
        write_features(tmp_path / "out.npz", good, bad)
    with pytest.raises(InputError, match=r"cannot write .*out\.npz"):
        write_features(tmp_path / "no" / "out.npz", good, good)
    assert list(tmp_path.iterdir()) == []
