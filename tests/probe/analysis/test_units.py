"""Dead units and effective rank, where both are known in closed form."""

import pytest
import torch
from torch import nn

from probe.analysis.units import dead_units, effective_rank
from probe.errors import InputError
from probe.seeding import stream


def gaussian(*shape):
    return torch.randn(*shape, generator=stream(0))


def after_relu(bias):
    layer = nn.Linear(6, 10)
    with torch.no_grad():
        layer.weight.copy_(gaussian(10, 6))
        layer.bias.copy_(torch.as_tensor(bias))
        return torch.relu(layer(gaussian(200, 6)))


def test_a_dead_layer_is_flagged_and_a_living_one_is_not():
    assert dead_units(after_relu([-1e3] * 10)) == 1
    assert dead_units(after_relu([0.0] * 10)) == 0
    assert dead_units(after_relu([-1e3] * 3 + [0.0] * 7)) == 0.3


@pytest.mark.parametrize("k", [1, 2, 5])
def test_equal_singular_values_count_as_many(k):
    """+-e_i for i in 1..k, of mean 0; turned, scaled and shifted."""
    x = torch.cat([torch.eye(k, 8), -torch.eye(k, 8)]).double()
    turn = torch.linalg.qr(gaussian(8, 8).double()).Q
    assert effective_rank(3 * x @ turn + 11) == pytest.approx(k, rel=1e-9)


@pytest.mark.parametrize("measure", [dead_units, effective_rank])
@pytest.mark.parametrize("shape", [(1, 5), (0, 5), (5,), (5, 0)])
def test_too_little_to_compare_is_refused(measure, shape):
    with pytest.raises(InputError, match="2 examples or more"):
        measure(torch.zeros(shape))
