"""Initialization writes every parameter that is not kept, and no other."""

import math

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.seeding import global_stream, stream
from probe.training.fresh_weights import initialize


def network():
    return nn.Sequential(
        nn.Conv2d(8, 128, 3),
        nn.BatchNorm2d(128),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1152, 64),
    )


def nines():
    """Return the network with every parameter 9."""
    model = network()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(9.0)
    return model


def test_murata_is_he_for_convolutions_and_a_hundredth_for_dense_layers():
    """Moments within four standard errors; fan-in 72 gives He's sqrt(2 / 72)."""
    model = nines()
    with torch.no_grad():
        model(
            torch.randn(
                4,
                8,
                5,
                5,
                generator=stream(0),
            )
        )
    initialize(model, "murata", stream(0))
    for layer, std in ((model[0], math.sqrt(2 / 72)), (model[4], 0.01)):
        weight = layer.weight.detach()
        assert abs(float(weight.mean())) < 4 * std / math.sqrt(weight.numel())
        assert abs(float(weight.std()) / std - 1) < 4 / math.sqrt(2 * weight.numel())
    assert not model[0].bias.any()
    assert not model[4].bias.any()
    fresh = nn.BatchNorm2d(128).state_dict()
    assert all(
        torch.equal(fresh[key], value) for key, value in model[1].state_dict().items()
    )


def test_torch_is_each_module_s_own_rule():
    """And torch's global generator is left alone."""
    model = network()
    expected = network()
    before = torch.get_rng_state()
    initialize(model, "torch", stream(0))
    assert torch.equal(torch.get_rng_state(), before)
    draw = stream(0)
    for module in expected:
        if hasattr(module, "reset_parameters"):
            with global_stream(draw):
                module.reset_parameters()
    assert all(map(torch.equal, model.parameters(), expected.parameters()))


@pytest.mark.parametrize("rule", ["murata", "torch"])
def test_what_is_kept_keeps_its_bits(rule):
    model = nines()
    kept = ["0.weight", "1.running_var", "4.bias"]
    initialize(model, rule, stream(0), keep=kept)  # type: ignore[arg-type]
    assert bool((model[0].weight == 9).all())
    assert bool((model[4].bias == 9).all())
    assert not (model[0].bias == 9).any()
    assert not (model[4].weight == 9).any()


@pytest.mark.parametrize("rule", ["murata", "torch"])
@pytest.mark.parametrize(
    "wrap", [nn.utils.spectral_norm, nn.utils.parametrizations.weight_norm]
)
def test_a_parameter_that_no_rule_writes_is_refused(wrap, rule):
    model = nn.Sequential(nn.Linear(6, 3), wrap(nn.Linear(3, 3)))
    model(
        torch.zeros(2, 6)
    )  # spectral norm computes its weight anew, no view of a parameter
    with pytest.raises(InputError, match="no rule re-initializes"):
        initialize(model, rule, stream(0))  # type: ignore[arg-type]
