"""A lifted path is the network on that path, and gives back what it learned, nothing else."""

from __future__ import annotations

import copy

import pytest
import torch

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe, fit
from scenarios.learners.kemker.path_network import LiftedPath, PathNetwork

D, K, T, M, N, W = 6, 4, 3, 5, 3, 8
PATH = torch.tensor([[4, 0, 4], [1, 2, 3]])
TASK, CLASSES = 1, (3, 1)


def network(held: list[list[int]]) -> PathNetwork:
    """One in which an earlier task has frozen some modules."""
    made = PathNetwork(D, K, T, M, N, W)
    initialize(made, "torch", stream(0, "init"))
    made.keep(0, torch.tensor(held))
    return made


def data(count: int = 40) -> Examples:
    x = torch.randn(count, D, generator=stream(0, "x"))
    return Examples(torch.cat([x, torch.full((count, 1), TASK + 1.0)], 1), (x[:, 0] > 0).long())


HELD = {"none on it": [[1], [0]], "some on it": [[0], [3]], "all on it": [[0, 4, 4], [1, 2, 3]]}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_it_computes_what_the_network_does_on_that_path(held: list[list[int]]) -> None:
    net, x = network(held), data().x
    lifted = LiftedPath(net, PATH, TASK, CLASSES)
    net.keep(TASK, PATH)
    with torch.no_grad():
        torch.testing.assert_close(lifted(x), net(x)[:, CLASSES])


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_training_it_moves_only_what_is_free_on_the_path(held: list[list[int]]) -> None:
    net = network(held)
    before = copy.deepcopy(net)
    lifted = LiftedPath(net, PATH, TASK, CLASSES)
    fit(lifted, data(), Recipe(epochs=3, batch_size=8, learning_rate=0.01), stream(0, "fit"))
    assert all(map(torch.equal, net.parameters(), before.parameters()))
    lifted.put_back(net)
    for at, (layer, old) in enumerate(zip(net.layers, before.layers, strict=True)):
        free = set(PATH[at].tolist()) - set(held[at])
        moved = (layer.dense.weight != old.dense.weight).any(1).unflatten(0, (M, W)).any(1)
        assert set(moved.nonzero().flatten().tolist()) == free
        still = [m for m in range(M) if m not in free]
        assert torch.equal(layer.dense.bias[layer.rows(still)], old.dense.bias[layer.rows(still)])
    moved = (net.output.dense.weight != before.output.dense.weight).any(1)
    assert set(moved.nonzero().flatten().tolist()) == {TASK * K + c for c in CLASSES}
    net.keep(TASK, PATH)
    with torch.no_grad():
        torch.testing.assert_close(lifted(data().x), net(data().x)[:, CLASSES])
