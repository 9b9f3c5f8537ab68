"""How often the data pass through the networks: once for everything that is measured of them."""

from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

import probe
from probe.by_layer.probing import Measure
from probe.cut.cuts import cut_each

TASKS = [[0, 1], [2, 3], [4, 5]]


class Stem(nn.Conv2d):
    """A first layer that counts the examples of each of its batches."""

    batches: ClassVar[list[int]] = []

    def forward(self, x):
        if type(x) is Tensor:  # else a replay asks for a value that is not computed
            self.batches.append(len(x))
        return super().forward(x)


def network():
    body = nn.Sequential(
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3),
        nn.ReLU(),
    )
    return nn.Sequential(
        Stem(3, 4, 4, 4),
        *body,
        nn.Flatten(),
        nn.Linear(16, 6),
    )


def forwarded(train, test, readouts):
    """Count the examples that an analysis of four networks forwards."""
    torch.manual_seed(0)
    data = [
        (
            torch.randn(n, 3, 16, 16),
            torch.arange(n) % 6,
        )
        for n in (train, test)
    ]
    networks, measure = (
        {t: network() for t in (1, 2, 3)},
        Measure(readouts=readouts, hybrids=0, inherited=False),
    )
    Stem.batches.clear()
    probe.analyze(
        networks,
        *data,
        TASKS,
        ["0", "2", "4"],
        network(),
        readouts=measure,
    )
    return sum(Stem.batches)


@pytest.mark.parametrize("readouts", [["linear"], ["linear", "knn", "ncm"]])
def test_what_grows_is_one_pass_for_all_readouts_and_one_for_r(readouts):
    """And, of the untrained network, one for its batch norm, another R and its similarity."""
    N, M = 576, 288  # more than are tested in a second batching
    more = forwarded(2 * N, 2 * M, readouts) - forwarded(N, M, readouts)
    assert more == 4 * (N + 2 * M) + N + 2 * M


def test_cutting_a_network_at_many_features_passes_its_sample_six_times_at_most():
    model = nn.Sequential(
        *(nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()) for _ in range(6))
    )
    model = nn.Sequential(
        Stem(3, 4, 4, 4),
        model,
        nn.Flatten(),
        nn.Linear(64, 6),
    )
    Stem.batches.clear()
    cut_each(model, [f"1.{k}" for k in range(6)], torch.randn(8, 3, 16, 16))
    assert Stem.batches.count(8) <= 6
