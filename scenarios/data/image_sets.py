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

_SPLITS = ("train", "test")
# Errors of downloads that fail, and of files that are cut off or of another format.
_BROKEN = (RuntimeError, OSError, ValueError, TypeError, EOFError, LookupError, AssertionError)


@dataclass(frozen=True)
class ImageSet:
    """An image set by the name of torchvision's class; it has K `classes`."""

    torchvisions: str
    classes: int = 10

    @property
    def files(self) -> list[str]:
        """The files of both splits, below the data folder."""
        if self.torchvisions == "SVHN":
            return [f"{split}_32x32.mat" for split in _SPLITS]
        if self.torchvisions.startswith("CIFAR"):
            cls = self._class()
            names = [name for name, _ in (*cls.train_list, *cls.test_list)]
            return [f"{cls.base_folder}/{name}" for name in (*names, cls.meta["filename"])]
        raw, kinds = f"{self.torchvisions}/raw", ("images-idx3", "labels-idx1")
        return [f"{raw}/{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in kinds]

    def read(self, folder: Path, split: str, *, download: bool = False) -> tuple[Any, Any]:
        """Read the images and labels of a split.

        Args:
            folder: The data folder.
            split: The split, such as `train`.
            download: Whether torchvision may download missing files.

        Returns:
            The images (N, C, 32, 32) or (N, 28, 28), bytes, and the N labels.
        """
        svhn = self.torchvisions == "SVHN"
        arguments = {"split": split} if svhn else {"train": split == "train"}
        data = self._class()(str(folder), **arguments, download=download)
        images = np.asarray(data.data)
        by_channel = images.transpose(0, 3, 1, 2) if images.shape[-1] == 3 else images
        return by_channel, np.asarray(data.labels if svhn else data.targets)

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

    Args:
        name: A name of `IMAGE_SETS`.
        folder: Laid out as torchvision leaves it.
        download: Whether missing files are fetched.

    Returns:
        The examples by split.

    Raises:
        InputError: There is no folder, or files are missing or damaged.
    """
    image_set = IMAGE_SETS[name]
    if folder is None:
        raise InputError(
            f"{name} needs a data folder: pass --data DIR (or set PROBE_DATA) where DIR holds "
            f"{image_set.files[0]} and so on, as torchvision lays them out; --download "
            f"fetches them"
        )
    failure = ""
    if download:
        try:
            for split in _SPLITS:
                image_set.read(folder, split, download=True)
        except _BROKEN as error:
            # Whatever is missing or damaged is named below.
            failure = _reason(error)
    missing = ", ".join(file for file in image_set.files if not (folder / file).is_file())
    if missing and download:
        raise InputError(f"{name} cannot be fetched into {folder} ({failure}): put {missing} there")
    if missing:
        raise InputError(
            f"{name} is incomplete in {folder}, which lacks {missing}: point --data at a folder in "
            f"torchvision's layout, or add --download"
        )
    return {split: _read(name, image_set, folder, split) for split in _SPLITS}


def _read(name: str, image_set: ImageSet, folder: Path, split: str) -> Examples:
    """Return one split, scaled to [0, 1]; raises InputError for files that hold anything else."""
    try:
        images, labels = image_set.read(folder, split)
        if not 0 <= labels.min() <= labels.max() < image_set.classes:
            raise ValueError(f"labels up to {labels.max()}, expected 0 to {image_set.classes - 1}")
        x = (images[:, None] if images.ndim == 3 else images) / np.float32(255)
        inputs = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        # It is a ValueError if these do not fit together.
        return Examples(inputs, torch.from_numpy(labels.astype(np.int64)))
    except _BROKEN as error:
        raise InputError(
            f"{name} cannot be read from {folder} ({_reason(error)}): one "
            f"of {', '.join(image_set.files)} is damaged; remove it and add --download"
        ) from None


def _reason(error: Exception) -> str:
    """Return the first sentence of an error of torchvision's, without its own advice."""
    reason = str(error).partition("\n")[0].partition(". You can use")[0]
    return reason or type(error).__name__
