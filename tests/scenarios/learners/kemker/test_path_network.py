"""PathNet's network: what a path computes, what is frozen, and a path lifted out of it."""

import copy

import pytest
import torch

from probe.examples import Examples
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe, fit
from scenarios.learners.kemker.path_network import LiftedPath, PathNetwork

D = 6
K = 4
T = 3
M = 5
N = 3
W = 2
PATHS = {
    0: [[0, 2, 2], [1, 3, 4]],
    2: [[2, 3, 4], [0, 0, 0]],
}


X = torch.randn(40, D, generator=stream(0, "x"))


def network(width=W):
    made = PathNetwork(
        D,
        K,
        T,
        M,
        N,
        width,
    )
    initialize(made, "torch", stream(0, "init"))
    return made


def plainly(net, one, path):
    """Return the scores of a single example, computed module after module."""
    value = one[:-1]
    task = int(one[-1]) - 1
    for layer, modules in zip(net.layers, path, strict=True):
        total = torch.zeros(W)
        for m in set(modules):
            weight, bias = (p[m * W : (m + 1) * W] for p in layer.dense.parameters())
            total += (weight @ value + bias).clamp(min=0)
        value = total
    weight, bias = (p[task * K : (task + 1) * K] for p in net.output.dense.parameters())
    return weight @ value + bias


@torch.no_grad()
def test_a_mixed_batch_is_what_each_examples_own_path_computes():
    """A task not learned is seen through the path learned last, before any the first modules."""
    x = torch.cat([X, 1.0 + torch.arange(40)[:, None] % T], 1)
    first = [list(range(N))] * 2
    learned = network()
    for task, path in PATHS.items():
        learned.keep(task, torch.tensor(path))
    for net, paths in (
        (learned, [PATHS[0], PATHS[2], PATHS[2]]),
        (network(), [first] * T),
    ):
        expected = torch.stack(
            [plainly(net, one, paths[int(one[-1]) - 1]) for one in x]
        )
        torch.testing.assert_close(net(x), expected)


def test_the_size_is_that_in_the_papers_table():
    net = PathNetwork(784, 10, 10, 10, 5, 80)
    assert round(4 * sum(p.numel() for p in net.parameters()) / 1e6, 2) == 2.80


PATH = torch.tensor([[4, 0, 4], [1, 2, 3]])
TASK = 1
CLASSES = (3, 1)
WIDE = 8  # modules of two units may be dead, and learn nothing
FROZEN = {
    "none on it": [[1], [0]],
    "some on it": [[0], [3]],
    "all on it": [[0, 4, 4], [1, 2, 3]],
}


@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_a_lifted_path_computes_the_same_and_moves_only_what_is_free(
    frozen,
):
    net = network(width=WIDE)
    net.keep(0, torch.tensor(frozen))
    data = Examples(
        torch.cat([X, torch.full((40, 1), TASK + 1.0)], 1), (X[:, 0] > 0).long()
    )
    before = copy.deepcopy(net)
    shown = copy.deepcopy(net)
    shown.keep(TASK, PATH)
    lifted = LiftedPath(net, PATH, TASK, CLASSES)
    with torch.no_grad():
        torch.testing.assert_close(lifted(data.x), shown(data.x)[:, CLASSES])
    fit(
        lifted,
        data,
        Recipe(epochs=3, batch_size=8, learning_rate=0.01),
        stream(0, "fit"),
    )
    assert all(map(torch.equal, net.parameters(), before.parameters()))
    lifted.put_back()
    for at, (layer, old) in enumerate(zip(net.layers, before.layers, strict=True)):
        free = set(PATH[at].tolist()) - set(frozen[at])
        moved = (
            (layer.dense.weight != old.dense.weight)
            .any(1)
            .unflatten(0, (M, WIDE))
            .any(1)
        )
        assert set(moved.nonzero().flatten().tolist()) == free
        still = [m for m in range(M) if m not in free]
        assert torch.equal(
            layer.dense.bias[layer.rows(still)], old.dense.bias[layer.rows(still)]
        )
    moved = (net.output.dense.weight != before.output.dense.weight).any(1)
    assert set(moved.nonzero().flatten().tolist()) == {TASK * K + c for c in CLASSES}
    net.keep(TASK, PATH)
    with torch.no_grad():
        torch.testing.assert_close(lifted(data.x), net(data.x)[:, CLASSES])
