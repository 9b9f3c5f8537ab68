"""The papers' CIFAR networks: their parameters, and the shape of every feature."""

import pytest
import torch

from probe.errors import InputError
from scenarios.networks import build_network

CIFAR = (3, 32, 32)


# Zenke et al. 2017, appendix A: 3 x 3 kernels, 32, 32, 64 and 64 channels, two poolings
# by 2.
CONVS = {
    "conv1": (32, 32, 32),
    "conv2": (32, 16, 16),
    "conv3": (64, 16, 16),
    "conv4": (64, 8, 8),
}
SHAPES = {
    "cnn4": {
        **CONVS,
        "output": (100,),
    },
    "cnn6": {
        **CONVS,
        "dense": (512,),
        "output": (100,),
    },
}
# 3 x 3 kernels and dense layers, weights and biases, counted by hand.
SIZES = {
    "cnn4": 475_268,
    "cnn6": 2_214_532,
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_cifar_networks_have_these_parameters_and_features(name):
    model = build_network(name, CIFAR, 100)
    assert sum(p.numel() for p in model.parameters()) == SIZES[name]
    shapes = {}
    x = torch.rand(2, *CIFAR)
    for feature, stage in model.named_children():
        x = stage(x)
        shapes[feature] = tuple(x.shape[1:])
    assert list(shapes.items()) == list(SHAPES[name].items())


@pytest.mark.parametrize("name", SHAPES)
def test_odd_and_small_images(name):
    """Pooling rounds down; below 4 x 4 nothing is left."""
    assert build_network(name, (1, 5, 7), 3)(torch.rand(2, 1, 5, 7)).shape == (2, 3)
    assert build_network(name, (1, 4, 4), 3)(torch.rand(2, 1, 4, 4)).shape == (2, 3)
    with pytest.raises(InputError, match=r"4 x 4 or more, got \(1, 3, 8\)"):
        build_network(name, (1, 3, 8), 3)
