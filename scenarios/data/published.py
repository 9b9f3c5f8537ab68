"""Published image sets, from the files of torchvision's folder layout or by its downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.arrays import Array
from scenarios.data.cifar import read_batch

# torchvision is imported in functions: it costs seconds, and the bundled data do not need it.


@dataclass(frozen=True, kw_only=True)
class Published:
    """An image set: torchvision's class of it, and how its files are read.

    files: below the data folder, of each half. read: gives the images and labels of a half from the
    folder, the half's name and its files, and raises whatever it likes for a damaged one; fetch:
    has torchvision download what is missing or damaged of both.
    """

    cls: str
    classes: int
    files: Mapping[str, tuple[str, ...]]
    read: Callable[[Path, str, Published], tuple[Array, Any]]
    fetch: Callable[[Path, Published], None]


def read_published(name: str, folder: Path | None, download: bool) -> dict[str, Examples]:
    """Return both halves of one of PUBLISHED, `train` and `test`: images (N, C, H, W) in [0, 1].

    Nothing in the files is executed. Raises InputError for files that are missing, incomplete or
    corrupt, saying which were looked for and how to get them.
    """
    found = PUBLISHED[name]
    if folder is None:
        raise InputError(
            f"{name} needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR holds "
            f"{found.files['train'][0]} and so on, as torchvision lays them out; --download "
            f"fetches them"
        )
    failure = _fetched(found, folder) if download else ""
    missing = [f for files in found.files.values() for f in files if not (folder / f).is_file()]
    if missing and download:
        raise InputError(
            f"{name} cannot be fetched into {folder} ({failure}): put {', '.join(missing)} there"
        )
    if missing:
        raise InputError(
            f"{name} is not whole in {folder}, which lacks {', '.join(missing)}: point --data at a "
            f"folder in torchvision's layout, or add --download"
        )
    return {half: _half(name, found, folder, half) for half in found.files}


# What is raised for downloads that fail, and for files that are cut off or of another format.
_BROKEN = (RuntimeError, OSError, ValueError, TypeError, EOFError, LookupError, AssertionError)


def _fetched(found: Published, folder: Path) -> str:
    """Download what is missing; return why that failed, or nothing."""
    try:
        found.fetch(folder, found)
    except _BROKEN as error:
        return _reason(error)
    return ""


def _half(name: str, found: Published, folder: Path, half: str) -> Examples:
    try:
        images, labels = found.read(folder, half, found)
        if not 0 < len(images) == len(labels):
            raise ValueError(
                f"{len(images)} images and {len(labels)} labels, expected equally many"
            )
        labels = np.array(labels, dtype=np.int64)
        if labels.min() < 0 or labels.max() >= found.classes:
            raise ValueError(f"labels up to {labels.max()}, expected 0 to {found.classes - 1}")
    except InputError as error:
        raise InputError(
            f"{name} cannot be read from {folder}: {error}; remove what is damaged and add "
            f"--download"
        ) from None
    except _BROKEN as error:
        raise InputError(
            f"{name} cannot be read from {folder} ({_reason(error)}): of "
            f"{', '.join(found.files[half])} one is damaged; remove it and add --download"
        ) from None
    x = _channels_first(images) / np.float32(255)
    inputs = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    return Examples(inputs, torch.from_numpy(labels))


def _reason(error: Exception) -> str:
    said = str(error).partition("\n")[0].partition(". You can use")[0]
    return said or type(error).__name__


def _channels_first(images: Array) -> Array:
    """Return (N, 1, H, W) from (N, H, W), and (N, 3, H, W) as it is."""
    return images[:, None] if images.ndim == 3 else images


def _read_idx(folder: Path, half: str, found: Published) -> tuple[Array, Any]:
    images, labels = found.files[half]
    return read_idx(folder / images, 3), read_idx(folder / labels, 1)


def _fetch_idx(folder: Path, found: Published) -> None:
    from torchvision import datasets

    getattr(datasets, found.cls)(str(folder), download=True)


def _read_cifar(folder: Path, half: str, found: Published) -> tuple[Array, Any]:
    damaged = _damaged(folder, half, found)
    if damaged:
        raise InputError(f"{', '.join(damaged)} is not what was published")
    batches = [read_batch(folder / file) for file in found.files[half]]
    labels = [label for _, each in batches for label in each]
    return np.concatenate([images for images, _ in batches]), labels


def _fetch_cifar(folder: Path, found: Published) -> None:
    from torchvision import datasets
    from torchvision.datasets.utils import download_and_extract_archive

    # Not its constructor, which unpickles what it has fetched.
    if any(_damaged(folder, half, found) for half in found.files):
        cls = getattr(datasets, found.cls)
        download_and_extract_archive(cls.url, str(folder), filename=cls.filename, md5=cls.tgz_md5)


def _damaged(folder: Path, half: str, found: Published) -> list[str]:
    """Return the files that are missing or not the published ones, by torchvision's checksums."""
    from torchvision import datasets
    from torchvision.datasets.utils import check_integrity

    checksums = [checksum for _, checksum in getattr(getattr(datasets, found.cls), f"{half}_list")]
    pairs = zip(found.files[half], checksums, strict=True)
    return [file for file, checksum in pairs if not check_integrity(str(folder / file), checksum)]


def _read_svhn(folder: Path, half: str, found: Published) -> tuple[Array, Any]:
    from torchvision import datasets

    data = getattr(datasets, found.cls)(str(folder), split=half)
    return data.data, data.labels


def _fetch_svhn(folder: Path, found: Published) -> None:
    from torchvision import datasets

    for half in found.files:
        getattr(datasets, found.cls)(str(folder), split=half, download=True)


def _idx(cls: str) -> Published:
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    stems = {"train": "train", "test": "t10k"}
    files = {half: tuple(f"{cls}/raw/{s}-{kind}" for kind in kinds) for half, s in stems.items()}
    return Published(cls=cls, classes=10, files=files, read=_read_idx, fetch=_fetch_idx)


def _cifar(cls: str, classes: int, folder: str, train: tuple[str, ...], test: str) -> Published:
    files = {"train": tuple(f"{folder}/{name}" for name in train), "test": (f"{folder}/{test}",)}
    return Published(cls=cls, classes=classes, files=files, read=_read_cifar, fetch=_fetch_cifar)


_PARTS = tuple(f"data_batch_{number}" for number in range(1, 6))
_MATLAB = {half: (f"{half}_32x32.mat",) for half in ("train", "test")}

PUBLISHED = {
    "mnist": _idx("MNIST"),
    "fashion_mnist": _idx("FashionMNIST"),
    "svhn": Published(cls="SVHN", classes=10, files=_MATLAB, read=_read_svhn, fetch=_fetch_svhn),
    "cifar10": _cifar("CIFAR10", 10, "cifar-10-batches-py", _PARTS, "test_batch"),
    "cifar100": _cifar("CIFAR100", 100, "cifar-100-python", ("train",), "test"),
}


_BYTES = 8  # the format's number for unsigned bytes


def read_idx(path: Path, dimensions: int) -> Array:
    """Return the array of unsigned bytes in an IDX file, of so many dimensions.

    The file is two zeros, the type of the values (8), the number of dimensions, their sizes as big
    endian whole numbers of four bytes, and the values. Raises InputError, the end of a sentence, if
    it is anything else or of another length than its sizes say.
    """
    content = path.read_bytes()
    start = 4 * (1 + dimensions)
    if len(content) < start or content[:4] != bytes([0, 0, _BYTES, dimensions]):
        raise InputError(
            f"{path.name} does not start as a file of {dimensions}-dimensional bytes in the IDX "
            f"format"
        )
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if len(content) - start != prod(shape):
        raise InputError(
            f"{path.name} holds {len(content) - start:,} values where its header says "
            f"{prod(shape):,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
