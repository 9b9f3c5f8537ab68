"""Published image sets: MNIST, SVHN, CIFAR, from files in torchvision's layout.

torchvision knows the addresses and checksums, downloads missing files if asked to, and
reads them; it unpickles only files with the published checksum. Images are divided by
255, labels are as published.

torchvision is imported in functions, as it takes seconds.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.names import IMAGE_SETS

_SPLITS = ("train", "test")
_MNIST_FILES = (
    "train-images-idx3",
    "train-labels-idx1",
    "t10k-images-idx3",
    "t10k-labels-idx1",
)
# Errors of downloads that fail, and of files that are cut off or of another format.
_BROKEN = (
    RuntimeError,
    OSError,
    ValueError,
    TypeError,
    EOFError,
    LookupError,
    AssertionError,
)


def read_image_set(
    name: str, folder: Path | None, download: bool
) -> dict[str, Examples]:
    """Return the train and test examples of an image set, with images in [0, 1].

    Args:
        name: The name of the image set, one of `IMAGE_SETS`.
        folder: The data folder, in torchvision's layout; None = there is none.
        download: Whether missing files are downloaded.

    Returns:
        The examples by split.

    Raises:
        InputError: There is no folder, or files are missing or damaged.
    """
    if folder is None:
        layout = f"with {_files(name)[0]} and so on, as torchvision lays them out"
        raise InputError(
            f"{name} needs a data folder: "
            f"pass --data DIR (or set PROBE_DATA) {layout}; --download fetches them"
        )
    try:
        return {split: _read(name, folder, split, download) for split in _SPLITS}
    except _BROKEN as error:
        # The first sentence of torchvision's error, without its advice.
        reason = str(error).partition("\n")[0].partition(". You can use")[0]
        reason = reason or type(error).__name__
    files = _files(name)
    if missing := [file for file in files if not (folder / file).is_file()]:
        remedy = (
            "put them there"
            if download
            else "point --data at their folder, or add --download"
        )
        raise InputError(
            f"{name} in {folder} lacks {', '.join(missing)} ({reason}): {remedy}"
        )
    raise InputError(
        f"{name} cannot be read from {folder} ({reason}): "
        f"one of {', '.join(files)} is damaged; remove it and add --download"
    )


def _read(name: str, folder: Path, split: str, download: bool) -> Examples:
    """Return one split, scaled to [0, 1]."""
    is_svhn = name == "svhn"
    _, classes = IMAGE_SETS[name]
    arguments = {"split": split} if is_svhn else {"train": split == "train"}
    data = _torchvisions(name)(str(folder), **arguments, download=download)
    images = np.asarray(data.data)
    labels = np.asarray(data.labels if is_svhn else data.targets)
    if not 0 <= labels.min() <= labels.max() < classes:
        raise ValueError(f"labels up to {labels.max()}, expected 0 to {classes - 1}")
    # To (N, C, H, W): gray images lack channels, those of CIFAR have them last.
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[-1] == 3:
        images = images.transpose(0, 3, 1, 2)
    inputs = np.ascontiguousarray(images / np.float32(255), dtype=np.float32)
    # It raises ValueError if images and labels differ in number.
    return Examples(torch.from_numpy(inputs), torch.from_numpy(labels.astype(np.int64)))


def _files(name: str) -> list[str]:
    """Return the files of both splits, below the data folder."""
    if name == "svhn":
        return [f"{split}_32x32.mat" for split in _SPLITS]
    if name.startswith("cifar"):
        cls = _torchvisions(name)
        files = [file for file, _ in (*cls.train_list, *cls.test_list)]
        files.append(cls.meta["filename"])
        return [f"{cls.base_folder}/{file}" for file in files]
    return [f"{IMAGE_SETS[name][0]}/raw/{file}-ubyte" for file in _MNIST_FILES]


def _torchvisions(name: str) -> Any:
    """Return torchvision's class of an image set."""
    from torchvision import datasets

    return getattr(datasets, IMAGE_SETS[name][0])
