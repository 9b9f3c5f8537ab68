"""A layer that was overwritten is where forgetting starts, whatever the network."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from probe.seeding import stream
from probe.tables.rows import StartRow
from tests.probe.by_layer.nets import FEATURES, analyzed, offline, rows

NETWORKS = 20
READOUTS = ("retrain", "linear")


def noisy(model: nn.Sequential, layer: str, seed: int) -> nn.Sequential:
    """A network with values of ten times the spread in place of one layer's weights."""
    weight = model.get_submodule(layer).weight
    with torch.no_grad():
        noise = torch.randn(weight.shape, generator=stream(seed, "noise"))
        weight.copy_(10 * weight.std() * noise)
    return model


def starts(last: nn.Module, seed: int) -> dict[str, StartRow]:
    """Where forgetting starts by readout; layers before it have lost nothing at all."""
    found = analyzed({3: last}, offline=offline(seed), seeds=3)
    by_readout = {row.readout: row for row in found.starts()}
    missing = rows(found, "missing")
    for readout, row in by_readout.items():
        for before in FEATURES[: FEATURES.index(row.feature)] if row.feature else FEATURES:
            assert missing[readout, before].value == 0
            assert row.earliest != before
    return by_readout


def check_found(layer: str, feature: str, seed: int) -> None:
    by_readout = starts(noisy(offline(seed), layer, seed), seed)
    assert {name: row.feature for name, row in by_readout.items()} == dict.fromkeys(
        READOUTS, feature
    )
    assert all(row.earliest == feature and row.low > 0 for row in by_readout.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NETWORKS))
def test_a_layer_overwritten_with_noise_is_found(seed: int) -> None:
    check_found("hidden2", "relu2", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NETWORKS))
def test_so_it_is_where_the_first_or_the_last_was_overwritten(seed: int) -> None:
    layer, feature = (("hidden1", "relu1"), ("output", "output"))[seed % 2]
    check_found(layer, feature, seed)


def test_one_of_them_is_among_the_fast_tests() -> None:
    check_found("hidden2", "relu2", 0)


def test_where_nothing_was_overwritten_no_layer_is_found() -> None:
    assert {row.feature for row in starts(offline(), 0).values()} == {""}
    assert {row.earliest for row in starts(offline(), 0).values()} == {""}
