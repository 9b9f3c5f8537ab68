"""`probe prepare cub200`: CUB-200-2011 with its official split as a feature file (Kemker 2018)."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.feature_files import write_features
from scenarios.data.image_features import features_of_files, load_network

_NETWORK = "resnet50"


def prepare_cub200(
    folder: Path, out: Path, weights: str, features: Path | None, device: torch.device
) -> None:
    """Write the features of all images, ResNet-50's by default, to a feature file.

    Args:
        folder: The folder CUB_200_2011 of the release.
        out: The file to write.
        weights: The weights of torchvision's ResNet-50, see `load_network`.
        features: A file (.npy) with features made elsewhere, (N, D) in the order of
            images.txt; None = they are computed here.
        device: The device of the network.

    Raises:
        InputError: A list is missing, or the lists or the features differ in their
            images.
    """
    # Each by the number of an image, or of a class.
    paths = _column(folder / "images.txt")
    names = _column(folder / "classes.txt")
    labels = _column(folder / "image_class_labels.txt")
    is_train = _column(folder / "train_test_split.txt")
    if not paths.keys() == labels.keys() == is_train.keys():
        raise InputError(
            f"the lists in {folder} name other images ("
            f"{len(paths)}, {len(labels)} and {len(is_train)}): download it again"
        )
    # Classes with images but no name, or the reverse; and flags that are neither.
    if odd := {*labels.values()} ^ {*names}:
        raise InputError(f"class {min(odd)!r:.40} has no images or no name in {folder}")
    if odd := {*is_train.values()} ^ {"0", "1"}:
        raise InputError(
            f"train_test_split.txt in {folder}: expected 0 and 1, see {min(odd)!r:.40}"
        )
    if features is None:
        files = [folder / "images" / path for path in paths.values()]
        network = load_network(_NETWORK, weights).to(device)
        x = features_of_files(network, files, _NETWORK, device)
    else:
        x = _read(features, len(paths))
    # Classes are numbered from 0, in the order of their list.
    classes = {number: k for k, number in enumerate(names)}
    y = torch.tensor([classes[labels[image]] for image in paths])
    rows = torch.tensor([is_train[image] == "1" for image in paths])
    train = Examples(x[rows], y[rows])
    test = Examples(x[~rows], y[~rows])
    write_features(out, train, test, [*names.values()])
    sizes = f"{len(train):,} training and {len(test):,} test images"
    print(f"{out}: {x.shape[1]} features of {sizes} (Kemker 2018: 5,994 and 5,794)")


def _column(path: Path) -> dict[str, str]:
    """Return the second column of a list, by the image's or class's number."""
    try:
        pairs = [
            line.split(maxsplit=1) for line in path.read_text("utf-8").splitlines()
        ]
        column = {number: value.strip() for number, value in pairs}
        if len(column) < len(pairs):
            raise ValueError("a number stands on two lines")
        return column
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error!s:.60}): expected the release's list of "
            "pairs"
        ) from None


def _read(path: Path, images: int) -> torch.Tensor:
    """Return features (N, D) from a file; raises InputError for another shape."""
    try:
        x: Any = np.load(path, allow_pickle=False)
        if x.ndim == 2 and len(x) == images:
            return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        got = str(x.shape)
    except (OSError, ValueError, AttributeError) as error:
        got = f"{error!s:.60}"
    raise InputError(f"{path} must be a .npy file of shape ({images}, D), got {got}")
