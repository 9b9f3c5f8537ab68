"""`probe features`: a feature file from a folder of images, by a pretrained network.

Kemker et al. 2018 train on such features of CUB-200. The images pass through the
network once, in eval mode, and the inputs of its last dense layer are written to a
feature file. Weights and images are not trusted: no pickle is run, and an image that
would fill the memory is refused.

torchvision is imported in functions, as it takes seconds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from probe.errors import InputError, check_known, described
from probe.examples import Examples
from probe.progress import tracked
from probe.record.state_files import load_state
from probe.seeding import global_stream, stream
from probe.tables.note_text import listed
from probe.training.evaluation import penultimate
from probe.training.precision import products
from scenarios.data.feature_files import SUFFIX, write_features
from scenarios.environment import variables

# Networks that are not offered: they do not end in a dense layer, or their weights need
# inputs that are scaled otherwise or of another size.
_OTHERS = ("squeezenet", "googlenet", "inception", "vit_h_14")


def write_features_of_images(
    folder: Path, network: str, weights: str, out: Path, device: torch.device
) -> None:
    """Write the inputs of a network's last dense layer to a feature file, and print its sizes.

    Args:
        folder: The folder of the images, train/CLASS/* and test/CLASS/*; classes are
            ordered by the names of their folders.
        network: The name of a torchvision network; resnet50 gives 2,048 features (those
            that Kemker 2018 used for CUB-200). Images are prepared as for torchvision's
            weights.
        weights: The weights, see `load_network`.
        out: The file to write.
        device: The device of the network.

    Raises:
        InputError: An argument cannot be used; found before images are read if
            possible.
    """
    from torchvision import models

    if out.suffix != SUFFIX or not out.parent.is_dir():
        raise InputError(
            f"--out expects NAME{SUFFIX} in a folder that exists, got {out}"
        )
    networks = [
        name
        for name in models.list_models(module=models)
        if not name.startswith(_OTHERS)
    ]
    check_known("torchvision network", network, networks)
    images = {split: _images(folder / split, network) for split in ("train", "test")}
    classes = images["train"].classes
    test_classes = images["test"].classes
    # Checked before a network is downloaded.
    if classes != test_classes or len(classes) < 2:
        raise InputError(
            f"{folder} has the classes {listed(classes)} in train and "
            f"{listed(test_classes)} in test: give both the same folders, two or more"
        )
    model = load_network(network, weights).to(device)
    train = _examples(model, images["train"], "train", device)
    test = _examples(model, images["test"], "test", device)
    write_features(out, train, test, classes)
    print(
        f"{out}: {train.x.shape[1]} features of {len(train)} training and "
        f"{len(test)} test images of {len(classes)} classes"
    )


class _Files(Dataset[Any]):
    """Images in files, prepared for a network, with the label 0."""

    def __init__(self, files: Sequence[Path], network: str) -> None:
        from torchvision import models

        self._files = files
        self._prepare = models.get_model_weights(network).DEFAULT.transforms()

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self._prepare(_picture(str(self._files[index]))), 0


def features_of_files(
    model: nn.Module, files: Sequence[Path], network: str, device: torch.device
) -> torch.Tensor:
    """Return the inputs (N, D) of a network's last dense layer, for N images in files.

    Args:
        model: The network, in eval mode on the device.
        files: The files.
        network: The name of the network in torchvision, for which the images are
            prepared.
        device: The device.

    Raises:
        InputError: A file is missing, or no image.
    """
    return _examples(model, _Files(files, network), "images", device).x


def load_network(name: str, weights: str) -> nn.Module:
    """Return a torchvision network in eval mode, on the CPU.

    Args:
        name: The name of the network in torchvision.
        weights: The weights: `default` for torchvision's, downloaded if missing;
            `random` for fresh weights from a fixed seed; or a file with a state dict of
            the network, with any number of classes.

    Returns:
        The network.

    Raises:
        InputError: Weights are missing or do not fit.
    """
    from torchvision import models

    state = None if weights in ("default", "random") else load_state(Path(weights))
    try:
        # The last layer has one row for each class.
        classes = {}
        if state is not None:
            classes["num_classes"] = len(list(state.values())[-1])
        published = "DEFAULT" if weights == "default" else None
        # Without this variable torch would run a pickle. torchvision draws fresh weights
        # from the global generator.
        weights_only = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1"}
        with variables(weights_only), global_stream(stream(0, "weights")):
            model: nn.Module = models.get_model(name, weights=published, **classes)
        if state is not None:
            model.load_state_dict(state)
    # A damaged or hostile file makes torch raise almost anything, and so does a
    # network.
    except Exception as error:
        source = weights
        if weights == "default":
            source = f"{torch.hub.get_dir()}/checkpoints"
        raise InputError(
            f"the weights of torchvision's {name} cannot be loaded from {source} "
            f"({described(error)}): put the right file there, or give it with "
            "--weights FILE"
        ) from None
    return model.eval()


def _images(root: Path, network: str) -> Any:
    """Return torchvision's ImageFolder, with images read one by one and prepared for the network.

    Raises InputError without a folder or without images.
    """
    from torchvision import datasets, models

    # Images are prepared in the same way whatever the weights.
    prepare = models.get_model_weights(network).DEFAULT.transforms()
    try:
        return datasets.ImageFolder(str(root), prepare, loader=_picture)
    except OSError as error:
        reason = error.strerror or str(error).partition(". ")[0].rstrip(".")
        raise InputError(
            f"{root} has no images by class ({reason}): "
            "give a folder with train/CLASS/* and test/CLASS/*"
        ) from None


def _picture(path: str) -> Any:
    """Read an image as RGB, by PIL; raises InputError for any other file, or a huge image."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except Exception as error:
        # A damaged or hostile file makes PIL raise almost anything, also of an image
        # too large.
        raise InputError(
            f"{path} is no image ({described(error)}): replace or remove it"
        ) from None


def _examples(
    model: nn.Module, images: Any, split: str, device: torch.device
) -> Examples:
    """Return the features (N, D) of images with their labels, on the CPU; shows progress."""
    # Without its own generator the loader would draw from the global one.
    loader = DataLoader(images, batch_size=32, generator=stream(0, "loader"))
    with torch.no_grad(), products("fp32"):
        features = []
        labels = []
        for x, y in tracked(loader, split):
            # The features of all images need not fit on the device.
            features.append(penultimate(model, x.to(device)).cpu())
            labels.append(y)
    return Examples(torch.cat(features), torch.cat(labels))
