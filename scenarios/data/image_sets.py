"""Published image sets: MNIST, SVHN, CIFAR, from files in torchvision's layout.

torchvision knows addresses and checksums, downloads missing files if asked to, and reads them; it
unpickles only files with the published checksum. Images are divided by 255, labels are as
published.

torchvision is imported in functions, as it takes seconds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples

_HALVES = ("train", "test")
# Errors of downloads that fail, and of files that are cut off or of another format.
_BROKEN = (RuntimeError, OSError, ValueError, TypeError, EOFError, LookupError, AssertionError)


@dataclass(frozen=True)
class ImageSet:
    """An image set by the name of torchvision's class; classes: K."""

    torchvisions: str
    classes: int = 10

    @property
    def files(self) -> list[str]:
        """The files of both halves, below the data folder."""
        if self.torchvisions == "SVHN":
            return [f"{half}_32x32.mat" for half in _HALVES]
        if self.torchvisions.startswith("CIFAR"):
            cls = self._class()
            names = [name for name, _ in (*cls.train_list, *cls.test_list)]
            return [f"{cls.base_folder}/{name}" for name in (*names, cls.meta["filename"])]
        raw, kinds = f"{self.torchvisions}/raw", ("images-idx3", "labels-idx1")
        return [f"{raw}/{half}-{kind}-ubyte" for half in ("train", "t10k") for kind in kinds]

    def read(self, folder: Path, half: str, *, download: bool = False) -> tuple[Any, Any]:
        """Return the images (N, C, 32, 32) or (N, 28, 28), bytes, and the N labels of a half."""
        svhn = self.torchvisions == "SVHN"
        asked = {"split": half} if svhn else {"train": half == "train"}
        found = self._class()(str(folder), **asked, download=download)
        images = np.asarray(found.data)
        by_channel = images.transpose(0, 3, 1, 2) if images.shape[-1] == 3 else images
        return by_channel, np.asarray(found.labels if svhn else found.targets)

    def _class(self) -> Any:
        from torchvision import datasets

        return getattr(datasets, self.torchvisions)


IMAGE_SETS = {
    "mnist": ImageSet("MNIST"),
    "fashion_mnist": ImageSet("FashionMNIST"),
    "svhn": ImageSet("SVHN"),
    "cifar10": ImageSet("CIFAR10"),
    "cifar100": ImageSet("CIFAR100", classes=100),
}
"""The image sets by the name that studies use for them."""


def read_image_set(name: str, folder: Path | None, download: bool) -> dict[str, Examples]:
    """Return the train and test examples of an image set, with images in [0, 1].

    folder: laid out as torchvision leaves it; download: whether missing files are fetched. Raises
    InputError for no folder, and for files that are missing or damaged.
    """
    found = IMAGE_SETS[name]
    if folder is None:
        raise InputError(
            f"{name} needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR holds "
            f"{found.files[0]} and so on, as torchvision lays them out; --download "
            f"fetches them"
        )
    failure = ""
    if download:
        try:
            for half in _HALVES:
                found.read(folder, half, download=True)
        except _BROKEN as error:
            # Whatever is missing or damaged is named below.
            failure = _reason(error)
    missing = ", ".join(file for file in found.files if not (folder / file).is_file())
    if missing and download:
        raise InputError(f"{name} cannot be fetched into {folder} ({failure}): put {missing} there")
    if missing:
        raise InputError(
            f"{name} is incomplete in {folder}, which lacks {missing}: point --data at a folder in "
            f"torchvision's layout, or add --download"
        )
    return {half: _half(name, found, folder, half) for half in _HALVES}


def _half(name: str, found: ImageSet, folder: Path, half: str) -> Examples:
    """Return one half, scaled to [0, 1]; raises InputError for files that hold anything else."""
    try:
        images, labels = found.read(folder, half)
        if not 0 <= labels.min() <= labels.max() < found.classes:
            raise ValueError(f"labels up to {labels.max()}, expected 0 to {found.classes - 1}")
        x = (images[:, None] if images.ndim == 3 else images) / np.float32(255)
        inputs = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        # It is a ValueError if these do not fit together.
        return Examples(inputs, torch.from_numpy(labels.astype(np.int64)))
    except _BROKEN as error:
        raise InputError(
            f"{name} cannot be read from {folder} ({_reason(error)}): one "
            f"of {', '.join(found.files)} is damaged; remove it and add --download"
        ) from None


def _reason(error: Exception) -> str:
    """Return the first sentence of an error of torchvision's, without its own advice."""
    said = str(error).partition("\n")[0].partition(". You can use")[0]
    return said or type(error).__name__
