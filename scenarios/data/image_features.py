"""Features of a folder of images by a pretrained network, as a feature file: `probe features`.

Kemker et al. 2018 train on such features of CUB-200. The images pass through the network once, in
eval mode, and the inputs of its last dense layer are written to a feature file. Weights and images
are not trusted: no pickle is run, and an image that would fill the memory is refused.

torchvision is imported in functions, as it takes seconds.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from probe.errors import InputError, described, unknown
from probe.examples import Examples
from probe.notes import listed
from probe.progress import tracked
from probe.record.state_files import load_state
from probe.seeding import global_stream, stream
from probe.training.evaluation import penultimate
from probe.training.precision import products
from scenarios.data.feature_files import SUFFIX, write_features
from scenarios.environment import variables

# Networks that do not end in a dense layer, whose weights need the input scaled otherwise, or take
# images of another size with their own weights.
_OTHERS = ("squeezenet", "googlenet", "inception", "vit_h_14")


def write_features_of_images(
    folder: Path, network: str, weights: str, out: Path, device: torch.device
) -> None:
    """Write the inputs of a network's last dense layer to a feature file, and print its sizes.

    Args:
        folder: With train/CLASS/* and test/CLASS/*; classes are in the order of their folders'
            names.
        network: Of torchvision; resnet50 gives 2,048 features (Kemker 2018's of CUB-200). Images
            are prepared as for torchvision's own weights.
        weights: See `load_network`.
        out: The file to write.
        device: Of the network.

    Raises:
        InputError: Arguments cannot be used; if possible before images are read.
    """
    from torchvision import models

    if out.suffix != SUFFIX or not out.parent.is_dir():
        raise InputError(f"--out expects NAME{SUFFIX} in a folder that exists, got {out}")
    networks = [name for name in models.list_models(module=models) if not name.startswith(_OTHERS)]
    if network not in networks:
        raise unknown("network of torchvision", network, networks)
    images = {split: _images(folder / split, network) for split in ("train", "test")}
    classes, test_classes = images["train"].classes, images["test"].classes
    # Before a network is downloaded.
    if classes != test_classes or len(classes) < 2:
        raise InputError(
            f"{folder} has the classes {listed(classes)} in train and {listed(test_classes)} in "
            f"test: give both the same folders, two or more"
        )
    model = load_network(network, weights).to(device)
    train, test = (_examples(model, data, split, device) for split, data in images.items())
    write_features(out, train, test, classes)
    print(
        f"{out}: {train.x.shape[1]} features of {len(train)} training and {len(test)} test images "
        f"of {len(classes)} classes"
    )


def load_network(name: str, weights: str) -> nn.Module:
    """Return a torchvision network in eval mode, on the CPU.

    Args:
        name: Torchvision's name of the network.
        weights: `default`, torchvision's, downloaded if missing; `random`, from a fixed seed; or a
            file with a state dict of that network, of any number of classes.

    Returns:
        The network.

    Raises:
        InputError: Weights are missing or do not fit.
    """
    from torchvision import models

    if weights == "default":
        return _downloaded(name).eval()
    state = None if weights == "random" else _state_dict(Path(weights))
    # The last layer has one row for each class.
    classes = {} if state is None else {"num_classes": len(list(state.values())[-1])}
    try:
        # torchvision draws from the global generator.
        with global_stream(stream(0, "weights")):
            model: nn.Module = models.get_model(name, weights=None, **classes)
        if state is not None:
            model.load_state_dict(state)
    except RuntimeError:
        raise InputError(
            f"the weights in {weights} do not fit torchvision's {name}: name their network"
        ) from None
    return model.eval()


def _downloaded(name: str) -> nn.Module:
    """Return a network with torchvision's weights, from torch's folder or downloaded."""
    from torchvision import models

    try:
        # Or torch would run a pickle.
        with variables({"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1"}):
            model: nn.Module = models.get_model(name, weights="DEFAULT")
    except Exception as error:
        # A damaged or hostile file makes torch raise almost anything, and so does a network.
        folder = Path(torch.hub.get_dir(), "checkpoints")
        raise InputError(
            f"torchvision cannot fetch or read its weights of {name} ({described(error)}): remove "
            f"its file in {folder}, put the right one there, or give a file with --weights FILE"
        ) from None
    return model


def _state_dict(path: Path) -> dict[str, Tensor]:
    """Read a state dict without running its file; raises InputError for any other file."""
    if not path.exists():
        raise InputError(
            f"there is no weights file {path}: give the path of one, or `default` or `random`"
        )
    state = load_state(path)
    *_, last = state.values()
    # One value expanded could stand for more classes than the memory holds.
    if not last.ndim or not 0 < last.nbytes <= last.untyped_storage().nbytes():
        raise InputError(
            f"{path} holds no state dict whose last tensor has a row for each class: write it with "
            f"torch.save(model.state_dict(), FILE)"
        )
    return state


def _images(root: Path, network: str) -> Any:
    """Return torchvision's ImageFolder, its images prepared for the network and read one by one.

    Raises InputError without a folder or without images.
    """
    from torchvision import datasets, models

    # The same for all weights.
    prepare: Callable[[Any], Tensor] = models.get_model_weights(network).DEFAULT.transforms()
    try:
        return datasets.ImageFolder(str(root), prepare, loader=_picture)
    except OSError as error:
        reason = error.strerror or str(error).partition(". ")[0].rstrip(".")
        raise InputError(
            f"{root} is not a folder of images by class ({reason}): give a folder that holds "
            f"train/CLASS/* and test/CLASS/*"
        ) from None


def _picture(path: str) -> Any:
    """Return PIL's image in RGB; raises InputError for any other file, or a huge image."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except Exception as error:
        # A damaged or hostile file makes PIL raise almost anything, also of an image too large.
        raise InputError(f"{path} is no image ({described(error)}): replace or remove it") from None


def _examples(model: nn.Module, images: Any, split: str, device: torch.device) -> Examples:
    """Return the features (N, D) of images with their labels, on the CPU; shows progress."""
    # Without a generator it would draw from the global one.
    loader = DataLoader(images, batch_size=32, generator=stream(0, "loader"))
    rows, labels = [], []
    with torch.no_grad(), products("fp32"):
        for x, y in tracked(loader, split):
            # The features of all images need not fit on the device.
            rows.append(penultimate(model, x.to(device)).cpu())
            labels.append(y)
    return Examples(torch.cat(rows), torch.cat(labels))
