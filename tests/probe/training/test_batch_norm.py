"""Statistics of batch norm taken anew: what stays as it was (`tests/laws` has their values)."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from probe.seeding import global_stream, stream
from probe.training.batch_norm import reestimate

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def network():
    """Two layers of batch norm, with momenta of their own and statistics of something else."""
    with global_stream(stream(0)):
        first = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()
        )
        last = nn.Sequential(
            nn.Linear(64, 5), nn.BatchNorm1d(5, momentum=None), nn.Linear(5, 2)
        )
        model = nn.Sequential(*first, nn.Flatten(), *last)
        for _ in range(3):
            model(torch.randn(64, 3, 6, 6) + 3)
    return model


def inputs(n):
    return torch.rand(
        n,
        3,
        6,
        6,
        generator=stream(0, "x"),
    )


@pytest.mark.parametrize("mode", [True, False])
def test_all_but_the_statistics_is_as_before(mode):
    model = network().train(mode)
    model[5].eval()
    before = deepcopy(model.state_dict())
    x = inputs(300)
    draws = torch.get_rng_state()
    reestimate(model, x)
    assert torch.equal(torch.get_rng_state(), draws)
    changed = {
        name
        for name, value in model.state_dict().items()
        if (value != before[name]).any()
    }
    assert changed == {name for name in before if name.endswith(STATISTICS)}
    assert [m.training for m in model] == [mode] * 5 + [False, mode]
    assert (model[1].momentum, model[5].momentum) == (0.3, None)
    assert torch.equal(x, inputs(300))
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def test_instance_norm_that_is_told_to_keeps_them_too():
    """There torch takes no momentum for one of 0, which leaves the mean where it was."""
    norm = nn.InstanceNorm1d(2, track_running_stats=True)
    x = torch.randn(768, 2, 9, generator=stream(0)) + 4
    reestimate(norm, x)
    torch.testing.assert_close(norm.running_mean, x.mean((0, 2)))
    torch.testing.assert_close(norm.running_var, x.var(2).mean(0))
    assert norm.momentum == 0.1
