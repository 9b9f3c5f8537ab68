"""The papers' CIFAR networks: parameters in closed form, and the shape of every feature."""

import pytest
import torch
from torch import Tensor, nn

from probe.errors import InputError
from probe.modules import tap
from scenarios.networks import ARCHITECTURES, architecture, build_network

CIFAR = (3, 32, 32)


def conv(inputs: int, outputs: int) -> int:
    return inputs * outputs * 3 * 3 + outputs


def dense(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


# Zenke et al. 2017, appendix A: 3 x 3 kernels, 32, 32, 64 and 64 channels, two poolings by 2.
CONVOLUTIONS = conv(3, 32) + conv(32, 32) + conv(32, 64) + conv(64, 64)
FLAT = 64 * 8 * 8


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_parameters_of_the_cifar_networks() -> None:
    """In closed form, and for 100 classes in numbers."""
    for classes in (10, 100):
        sizes = {name: parameters(build_network(name, CIFAR, classes)) for name in SHAPES}
        assert sizes["cnn4"] == CONVOLUTIONS + dense(FLAT, classes)
        assert sizes["cnn6"] == CONVOLUTIONS + dense(FLAT, 512) + dense(512, classes)
    assert sizes == {"cnn4": 475_268, "cnn6": 2_214_532}


CONVS = {
    "conv1": (32, 32, 32),
    "conv2": (32, 16, 16),
    "conv3": (64, 16, 16),
    "conv4": (64, 8, 8),
}
SHAPES = {
    "cnn4": {**CONVS, "output": (100,)},
    "cnn6": {**CONVS, "dense": (512,), "output": (100,)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_features_have_these_shapes_in_this_order(name: str) -> None:
    model = build_network(name, CIFAR, 100)
    seen: dict[str, tuple[int, ...]] = {}

    def note(feature: str, output: object) -> None:
        assert isinstance(output, Tensor)
        seen[feature] = tuple(output.shape[1:])

    with tap(model, architecture(name).features, note), torch.no_grad():
        model(torch.rand(2, *CIFAR))
    assert list(seen.items()) == list(SHAPES[name].items())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_features_are_the_stages(name: str) -> None:
    model = build_network(name, (3, 32, 32), 7)
    assert tuple(stage for stage, _ in model.named_children()) == architecture(name).features
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 7)


@pytest.mark.parametrize("name", ["cnn4", "cnn6"])
def test_odd_and_small_images(name: str) -> None:
    """Pooling rounds down; below 4 x 4 nothing is left."""
    assert build_network(name, (1, 5, 7), 3)(torch.rand(2, 1, 5, 7)).shape == (2, 3)
    assert build_network(name, (1, 4, 4), 3)(torch.rand(2, 1, 4, 4)).shape == (2, 3)
    with pytest.raises(InputError, match="need images of 4 x 4 or more, got 3 x 8"):
        build_network(name, (1, 3, 8), 3)
    with pytest.raises(InputError, match="needs images"):
        build_network(name, (64,), 3)
