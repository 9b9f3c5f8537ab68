"""A layer that was overwritten is the first to fall below the ceiling, whatever the network."""

import copy
from collections import OrderedDict
from functools import cache

import pytest
import torch
from torch import nn

from probe import Measure
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import fit
from tests.probe.by_layer.nets import TRAINED, analyzed, digits, rows

# One network in every run of all tests; `make soak` has nineteen more.
NETWORKS = [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 20))]
READOUTS = ("retrain", "linear")
FEATURES = ["act1", "act2", "output"]


@cache
def trained(seed):
    """A network trained on all tasks at once; not to be changed."""
    layers = OrderedDict[str, nn.Module](
        hidden1=nn.Linear(64, 32),
        act1=nn.Tanh(),
        # So narrow that a trained layer and a random one differ: four units, of either
        # sign.
        hidden2=nn.Linear(32, 4),
        act2=nn.Tanh(),
        output=nn.Linear(4, 10),
    )
    net = nn.Sequential(layers)
    initialize(net, "torch", stream(seed, "init"))
    fit(
        net,
        digits()[0],
        TRAINED,
        stream(seed, "offline"),
    )
    return net


def noisy(seed, layer):
    """The same with values of ten times the spread in place of one layer's weights."""
    model = copy.deepcopy(trained(seed))
    weight = model.get_submodule(layer).weight
    with torch.no_grad():
        noise = torch.randn(weight.shape, generator=stream(seed, "noise"))
        weight.copy_(10 * weight.std() * noise)
    return model


@pytest.mark.parametrize("seed", NETWORKS)
@pytest.mark.parametrize(
    ("layer", "feature", "readouts"),
    [
        ("hidden2", "act2", READOUTS),
        pytest.param("output", "output", READOUTS, marks=pytest.mark.slow),
        # Three retrainings vary more than what the noise takes away.
        pytest.param("hidden1", "act1", ["linear"], marks=pytest.mark.slow),
    ],
)
def test_a_layer_overwritten_with_noise_is_found(layer, feature, readouts, seed):
    """Layers before it lack nothing at all; retraining names none where it has not converged."""
    measured = Measure(readouts=readouts, seeds=3)
    last, offline = noisy(seed, layer), trained(seed)
    found = analyzed(
        {3: last},
        features=FEATURES,
        offline=offline,
        readouts=measured,
    )
    missing = rows(found, "missing")
    for readout in readouts:
        assert missing[readout, feature].value > 0.05
        for before in FEATURES[: FEATURES.index(feature)]:
            assert missing[readout, before].value == 0
    (start,) = found.first_layers().query("readout == 'linear'").itertuples()
    assert (start.statement, start.first_confirmed, start.first_possible) == (
        "below_ceiling",
        feature,
        feature,
    )


def test_where_nothing_was_overwritten_no_layer_is_found():
    net, measured = trained(0), Measure(readouts=["linear"], seeds=3)
    offline = copy.deepcopy(net)
    with torch.no_grad():
        offline.output.bias.add_(1e-6)  # the same network would be no ceiling
    found = analyzed(
        {3: net},
        features=FEATURES,
        offline=offline,
        readouts=measured,
    )
    (start,) = found.first_layers().itertuples()
    assert (start.first_confirmed, start.first_possible) == ("", "")
