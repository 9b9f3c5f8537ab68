"""Data sets as tensors: the bundled ones, and torchvision's folders, whole and broken."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat
from sklearn import datasets as bundled
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from torchvision import datasets

from probe.errors import InputError
from scenarios.data.datasets import Location, load
from scenarios.data.names import BUNDLED
from tests.bad_input.making import idx

RANDOM = np.random.default_rng(0)
LABELS = {
    "train": np.array([3, 0, 9, 3, 1], np.uint8),
    "test": np.array([7, 0, 2], np.uint8),
}


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, np.uint8)


def write_idx(folder, cls, monkeypatch=None):
    """Write a tiny data set of MNIST's layout; return its images."""
    raw = folder / cls.__name__ / "raw"
    raw.mkdir(parents=True)
    images = {}
    for half, stem in (("train", "train"), ("test", "t10k")):
        images[half] = pixels(len(LABELS[half]), 1, 28, 28)
        (raw / f"{stem}-images-idx3-ubyte").write_bytes(idx(images[half][:, 0]))
        (raw / f"{stem}-labels-idx1-ubyte").write_bytes(idx(LABELS[half]))
    return images


def write_cifar(folder, cls, monkeypatch):
    """Write a tiny data set in the layout of CIFAR10 or CIFAR100, as `cls` then expects it."""
    base = folder / cls.base_folder
    images = {}
    base.mkdir()
    for half, files in (("train", cls.train_list), ("test", cls.test_list)):
        batches = pixels(len(files), len(LABELS[half]), 3072)
        sums = []
        for (name, _), batch in zip(files, batches, strict=True):
            content = {"data": batch, "labels": LABELS[half].tolist()}
            sums.append((name, write(base / name, pickle.dumps(content))))
        monkeypatch.setattr(cls, f"{half}_list", sums)
        images[half] = batches.reshape(-1, 3, 32, 32)
    meta = pickle.dumps({cls.meta["key"]: []})
    monkeypatch.setitem(cls.meta, "md5", write(base / cls.meta["filename"], meta))
    return images


def write_svhn(folder, cls, monkeypatch, by_half=LABELS):
    """Write a tiny data set of SVHN's layout, where label 10 is the digit 0."""
    images = {}
    split_list = {}
    for half, labels in by_half.items():
        name = f"{half}_32x32.mat"
        images[half] = pixels(len(labels), 3, 32, 32)
        raw = np.where(labels == 0, 10, labels)[:, None]
        savemat(
            folder / name,
            {
                "X": images[half].transpose(2, 3, 1, 0),
                "y": raw,
            },
        )
        split_list[half] = [
            "",
            name,
            write(folder / name, (folder / name).read_bytes()),
        ]
    monkeypatch.setattr(cls, "split_list", split_list)
    return images


def write(path, content):
    """Write a file and return its MD5, by which torchvision knows its own."""
    path.write_bytes(content)
    return hashlib.md5(content).hexdigest()


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_are_scikit_learns_in_its_split(name):
    """Example by example, without its import."""
    x, y = getattr(bundled, f"load_{name}")(return_X_y=True)
    x, test_x, y, test_y = train_test_split(
        x,
        y,
        test_size=0.2,
        stratify=y,
        random_state=0,
    )
    scaler = MinMaxScaler(clip=True).fit(x)
    data = load(name)
    for half, own, labels in ((data.train, x, y), (data.test, test_x, test_y)):
        assert half.y.tolist() == labels.tolist()
        expected = own / 16 if name == "digits" else scaler.transform(own)
        assert torch.equal(
            half.x.flatten(1), torch.tensor(expected, dtype=torch.float32)
        )


LAYOUTS = {
    "fashion_mnist": (write_idx, datasets.FashionMNIST, 10, 1),
    "cifar10": (write_cifar, datasets.CIFAR10, 10, 5),
    "cifar100": (write_cifar, datasets.CIFAR100, 100, 1),
    "svhn": (write_svhn, datasets.SVHN, 10, 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_gives_what_its_files_hold(tmp_path, monkeypatch, name):
    """CIFAR-10's training data are in five batches; SVHN's label 10 is the digit 0."""
    write_files, cls, classes, batches = LAYOUTS[name]
    images = write_files(tmp_path, cls, monkeypatch)
    data = load(name, Location(tmp_path))
    assert (data.name, data.classes) == (name, classes)
    for half in ("train", "test"):
        got = getattr(data, half)
        assert (got.x.dtype, got.y.dtype) == (torch.float32, torch.int64)
        assert torch.equal(
            (got.x * 255).round().to(torch.uint8), torch.from_numpy(images[half])
        )
        assert float(got.x.max()) <= 1
        times = batches if half == "train" else 1
        assert got.y.tolist() == LABELS[half].tolist() * times


def test_missing_files_are_named_and_downloaded_only_if_asked_for(
    tmp_path, monkeypatch
):
    for name, cls, file in (
        ("mnist", datasets.MNIST, "MNIST/raw/train-images-idx3-ubyte"),
        ("svhn", datasets.SVHN, "test_32x32.mat"),
        ("cifar10", datasets.CIFAR10, "cifar-10-batches-py/data_batch_3"),
    ):
        monkeypatch.setattr(
            cls, "download", lambda self: pytest.fail("it was downloaded")
        )
        with pytest.raises(
            InputError, match=f"{tmp_path}.*lacks .*{file}.*--data .*--download"
        ):
            load(name, Location(tmp_path))


def test_the_folder_of_the_environment_is_used_and_the_one_given_wins(monkeypatch):
    monkeypatch.delenv("PROBE_DATA", raising=False)
    assert Location.of(None, False) == Location(None, False)
    monkeypatch.setenv("PROBE_DATA", "/from/environment")
    assert Location.of(None, True) == Location(Path("/from/environment"), True)
    assert Location.of(Path("/given"), False) == Location(Path("/given"), False)
