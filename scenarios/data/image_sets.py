"""Published image sets: MNIST, SVHN, CIFAR, from files in torchvision's layout.

torchvision knows addresses and checksums, and downloads missing files if asked to; what it would
unpickle is read by `scenarios.data.image_files`. Images are divided by 255, labels are as
published.

torchvision is imported in functions, as it takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.image_files import read_cifar, read_idx
from scenarios.data.npz import Array

_HALVES = ("train", "test")
# Errors of downloads that fail, and of files that are cut off or of another format.
_BROKEN = (RuntimeError, OSError, ValueError, TypeError, EOFError, LookupError, AssertionError)


@dataclass(frozen=True, kw_only=True)
class ImageSet:
    """An image set and the reader of its files.

    torchvisions: the name of torchvision's class; classes: K.
    """

    torchvisions: str
    classes: int = 10

    def files(self, half: str) -> tuple[str, ...]:
        """Return the files of a half, `train` or `test`, below the data folder."""
        raise NotImplementedError

    def read(self, folder: Path, half: str) -> tuple[Array, Any]:
        """Return images of bytes, (N, H, W) or (N, 3, H, W), and N labels of a half.

        Raises an error of `_BROKEN` for a damaged file.
        """
        raise NotImplementedError

    def fetch(self, folder: Path) -> None:
        """Let torchvision download missing or damaged files of both halves."""
        self.their_class(str(folder), download=True)

    @property
    def their_class(self) -> Any:
        """torchvision's class."""
        from torchvision import datasets

        return getattr(datasets, self.torchvisions)


class _Idx(ImageSet):
    """Images and labels in two files of the IDX format."""

    def files(self, half: str) -> tuple[str, ...]:
        stem = {"train": "train", "test": "t10k"}[half]
        kinds = ("images-idx3", "labels-idx1")
        return tuple(f"{self.torchvisions}/raw/{stem}-{kind}-ubyte" for kind in kinds)

    def read(self, folder: Path, half: str) -> tuple[Array, Any]:
        images, labels = self.files(half)
        return read_idx(folder / images, 3), read_idx(folder / labels, 1)


class _Cifar(ImageSet):
    """Images with their labels in one or more pickles; those of other checksums are not read."""

    def files(self, half: str) -> tuple[str, ...]:
        return tuple(self._checksums(half))

    def read(self, folder: Path, half: str) -> tuple[Array, Any]:
        damaged = self._damaged(folder, half)
        if damaged:
            raise InputError(f"{', '.join(damaged)} is not what was published")
        batches = [read_cifar(folder / file) for file in self.files(half)]
        labels = [label for _, each in batches for label in each]
        return np.concatenate([images for images, _ in batches]), labels

    def fetch(self, folder: Path) -> None:
        from torchvision.datasets.utils import download_and_extract_archive

        # torchvision's constructor would unpickle the files.
        if any(self._damaged(folder, half) for half in _HALVES):
            cls = self.their_class
            download_and_extract_archive(
                cls.url, str(folder), filename=cls.filename, md5=cls.tgz_md5
            )

    def _damaged(self, folder: Path, half: str) -> list[str]:
        """Return the files that are missing or altered."""
        from torchvision.datasets.utils import check_integrity

        known = self._checksums(half).items()
        return [file for file, checksum in known if not check_integrity(folder / file, checksum)]

    def _checksums(self, half: str) -> dict[str, str]:
        """Return torchvision's checksums of the files of a half."""
        cls = self.their_class
        return {f"{cls.base_folder}/{file}": md5 for file, md5 in getattr(cls, f"{half}_list")}


class _Svhn(ImageSet):
    """A MATLAB file for each half, read by torchvision with scipy."""

    def files(self, half: str) -> tuple[str, ...]:
        return (f"{half}_32x32.mat",)

    def read(self, folder: Path, half: str) -> tuple[Array, Any]:
        data = self.their_class(str(folder), split=half)
        return data.data, data.labels

    def fetch(self, folder: Path) -> None:
        for half in _HALVES:
            self.their_class(str(folder), split=half, download=True)


IMAGE_SETS: dict[str, ImageSet] = {
    "mnist": _Idx(torchvisions="MNIST"),
    "fashion_mnist": _Idx(torchvisions="FashionMNIST"),
    "svhn": _Svhn(torchvisions="SVHN"),
    "cifar10": _Cifar(torchvisions="CIFAR10"),
    "cifar100": _Cifar(torchvisions="CIFAR100", classes=100),
}
"""All published image sets, by name."""


def read_image_set(name: str, folder: Path | None, download: bool) -> dict[str, Examples]:
    """Return both halves of one of IMAGE_SETS, `train` and `test`: images (N, C, H, W) in [0, 1].

    folder: the data folder; download: whether missing files are fetched into it. Raises InputError
    for files that are missing, incomplete or corrupt, with their names and the way to get them.
    """
    found = IMAGE_SETS[name]
    if folder is None:
        raise InputError(
            f"{name} needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR holds "
            f"{found.files('train')[0]} and so on, as torchvision lays them out; --download "
            f"fetches them"
        )
    failure = ""
    if download:
        try:
            found.fetch(folder)
        except _BROKEN as error:
            failure = _reason(error)
    files = [file for half in _HALVES for file in found.files(half)]
    missing = [file for file in files if not (folder / file).is_file()]
    if missing and download:
        raise InputError(
            f"{name} cannot be fetched into {folder} ({failure}): put {', '.join(missing)} there"
        )
    if missing:
        raise InputError(
            f"{name} is not whole in {folder}, which lacks {', '.join(missing)}: point --data at a "
            f"folder in torchvision's layout, or add --download"
        )
    return {half: _half(name, found, folder, half) for half in _HALVES}


def _half(name: str, found: ImageSet, folder: Path, half: str) -> Examples:
    """Return the examples of a half; raises InputError if its files are damaged."""
    try:
        images, labels = found.read(folder, half)
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
            f"{', '.join(found.files(half))} one is damaged; remove it and add --download"
        ) from None
    # Gray images (N, H, W) have one channel.
    x = (images[:, None] if images.ndim == 3 else images) / np.float32(255)
    inputs = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    return Examples(inputs, torch.from_numpy(labels))


def _reason(error: Exception) -> str:
    """Return the first sentence of an error, without torchvision's advice to download."""
    said = str(error).partition("\n")[0].partition(". You can use")[0]
    return said or type(error).__name__
