"""Multiply-adds against closed forms, and a meter that changes nothing that it measures."""

import copy

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import global_stream, stream
from probe.training.costs import OpsMeter, one_pass_ops
from probe.training.loop import fit
from probe.training.recipe import Recipe

K = 3


def conv():
    return nn.Sequential(
        nn.Conv2d(
            2,
            4,
            3,
            stride=2,
            padding=1,
        ),  # 9 x 9 -> 5 x 5
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 6, (3, 1), bias=False),  # -> 3 x 5
        nn.ReLU(),
        nn.Dropout(),
        nn.Flatten(),
        nn.Linear(6 * 3 * 5, K),
    )


# Forward, and for the weights' gradients as much; the gradient of a layer's input takes
# as much again, and the first layer's is not asked for.
PER_EXAMPLE = 2 * (5 * 5 * 4 * 2 * 9) + 3 * (3 * 5 * 6 * 4 * 3) + 3 * (6 * 3 * 5 * K)


def data(n):
    return Examples(
        torch.randn(
            n,
            2,
            9,
            9,
            generator=stream(0, "data"),
        ),
        torch.arange(n) % K,
    )


def made():
    with global_stream(stream(1)):
        return conv()


@pytest.mark.parametrize("n", [5, 37])
def test_one_pass_is_forward_and_backward_over_all_examples(n):
    model = made()
    before = copy.deepcopy(model.state_dict())
    assert one_pass_ops(model, data(n), batch_size=8) == n * PER_EXAMPLE
    assert all(
        torch.equal(before[key], value) for key, value in model.state_dict().items()
    )
    assert all(p.grad is None for p in model.parameters())
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize(("n", "batches"), [(20, 3), (17, 2)])
def test_a_training_is_its_passes(n, batches):
    """Full, last and joined batches (17 = 8 + 9): each example costs the same in any of them."""
    meter = OpsMeter()
    fit(
        made(),
        data(n),
        Recipe(epochs=3, batch_size=8),
        stream(0),
        meter=meter,
    )
    assert meter.total == 3 * n * PER_EXAMPLE
    assert meter.steps == 3 * batches
