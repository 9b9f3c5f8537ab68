"""Feature files: what is written is read again; for defects see `tests/bad_input`."""

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Location, load
from scenarios.data.feature_files import files_of, read_features, write_features

GOOD = {
    "x_train": np.array([[0.5, -2, 3], [1, 0, 0], [4, 5, 6]]),
    "y_train": np.array([0, 1, 1]),
    "x_test": np.array([[7.0, 8, 9], [1, 2, 3]]),
    "y_test": np.array([1, 0]),
}


def written(path, **changes):
    """Write the good arrays with changes; None leaves one out."""
    arrays = {
        name: value
        for name, value in {
            **GOOD,
            **changes,
        }.items()
        if value is not None
    }
    np.savez(path, **arrays)
    return path


def same(read, given):
    return torch.equal(read.x, given.x) and torch.equal(read.y, given.y)


@pytest.mark.parametrize(
    ("shape", "names"), [((5,), None), ((2, 3, 4), ["ape", "bär", "cat"])]
)
def test_a_round_trip_changes_nothing(tmp_path, shape, names):
    generator = torch.Generator().manual_seed(0)
    train, test = (
        Examples(torch.randn(n, *shape, generator=generator), torch.arange(n) % 3)
        for n in (7, 4)
    )
    path = tmp_path / "toy.npz"
    write_features(path, train, test, names)
    assert [entry.name for entry in tmp_path.iterdir()] == ["toy.npz"]
    assert names is None or np.load(path)["class_names"].tolist() == names
    data = load(str(path))
    assert (data.name, data.classes) == ("toy", 3)
    assert same(data.train, train)
    assert same(data.test, test)


@pytest.mark.parametrize("dtype", ["f2", ">f8", "u1", "i8", "?"])
def test_numbers_of_any_dtype_are_read(tmp_path, dtype):
    """From a compressed file with further arrays, of objects too."""
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype)
    arrays = {
        **GOOD,
        "x_train": x,
        "x_test": x[:2],
        "y_train": np.array([0, 1, 1], ">i2"),
    }
    np.savez_compressed(
        tmp_path / "a.npz",
        **arrays,
        note=np.array([object()], dtype=object),
    )
    read, *_ = read_features(tmp_path / "a.npz")
    assert (read.x.dtype, read.y.dtype) == (torch.float32, torch.int64)
    assert (read.x.tolist(), read.y.tolist()) == ([[0, 1], [1, 1], [1, 0]], [0, 1, 1])


def test_a_relative_name_is_of_the_current_folder_or_else_of_the_data_folder(
    tmp_path, monkeypatch
):
    here = tmp_path / "here"
    data = tmp_path / "data"
    for folder in (here, data):
        (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(here)
    written(data / "sub" / "a.npz", class_names=np.array(["x", "y"]))
    location = Location(data)
    assert load("sub/a.npz", location).train.x.shape == (3, 3)
    written(
        here / "sub" / "a.npz",
        x_train=GOOD["x_train"][:, :1],
        x_test=GOOD["x_test"][:, :1],
    )
    assert load("sub/a.npz", location).train.x.shape == (3, 1)
    assert load(str(data / "sub" / "a.npz"), location).train.x.shape == (3, 3)
    assert load("sub/a.npz").name == "a"
    both = f"no feature file {here / 'no.npz'} or {data / 'no.npz'}: give its path"
    for name, said in (
        ("no.npz", both),
        (str(here / "no.npz"), f"{here / 'no.npz'}: give"),
    ):
        with pytest.raises(InputError, match=said):
            load(name, location)


def test_only_files_as_they_were_count_as_checked(tmp_path):
    path = tmp_path / "a.npz"
    written(path)

    before = Location().now(str(path))
    assert before.now(str(path)).checked
    path.write_bytes(b"")
    assert not before.now(str(path)).checked
    assert not Location().now("digits").checked


def test_nothing_is_written_that_could_not_be_read(tmp_path):
    good = Examples(torch.eye(2), torch.tensor([0, 1]))
    bad = Examples(torch.eye(2), torch.tensor([0, 0]))
    with pytest.raises(
        InputError, match=r"out.npz: y_test has 1 classes from 0, expected 0 to 1"
    ):
        write_features(tmp_path / "out.npz", good, bad)
    with pytest.raises(InputError, match=r"cannot write .*out\.npz"):
        write_features(tmp_path / "no" / "out.npz", good, good)
    assert list(tmp_path.iterdir()) == []


def test_files_of_tasks_are_in_the_order_of_their_numbers(tmp_path):
    files = [tmp_path / f"task-{k}.npz" for k in range(1, 12)]
    for file in reversed(files):
        file.touch()
    assert files_of(tmp_path / "task-{task}.npz") == files
