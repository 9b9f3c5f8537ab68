"""PathNet's network: what a path computes, what is frozen, where it can be cut; a path lifted."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from probe.examples import Examples
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe, fit
from scenarios.learners.kemker.path_network import LiftedPath, PathNetwork

D, K, T, M, N, W = 6, 4, 3, 5, 3, 2
PATHS = {0: [[0, 2, 2], [1, 3, 4]], 2: [[2, 3, 4], [0, 0, 0]]}
FEATURES = ("layer1", "layer2", "output")


def network(seed: int = 0, width: int = W) -> PathNetwork:
    made = PathNetwork(D, K, T, M, N, width)
    initialize(made, "torch", stream(seed, "init"))
    return made


def learned() -> PathNetwork:
    made = network()
    for task, path in PATHS.items():
        made.keep(task, torch.tensor(path))
    return made


def mixed(count: int = 40) -> Tensor:
    """Examples of all tasks in turn."""
    x = torch.randn(count, D, generator=stream(0, "x"))
    return torch.cat([x, 1.0 + torch.arange(count)[:, None] % T], 1)


def plainly(net: PathNetwork, one: Tensor, path: list[list[int]]) -> Tensor:
    """The scores of a single example, module after module."""
    value, task = one[:-1], int(one[-1]) - 1
    for layer, modules in zip(net.layers, path, strict=True):
        total = torch.zeros(W)
        for m in set(modules):
            weight, bias = (p[m * W : (m + 1) * W] for p in layer.dense.parameters())
            total += (weight @ value + bias).clamp(min=0)
        value = total
    weight, bias = (p[task * K : (task + 1) * K] for p in net.output.dense.parameters())
    return weight @ value + bias


@torch.no_grad()
def test_a_mixed_batch_is_what_each_examples_own_path_computes() -> None:
    """The second task is not learned: the path of the third, learned last, shows it."""
    net, x = learned(), mixed()
    paths = [PATHS[0], PATHS[2], PATHS[2]]
    expected = torch.stack([plainly(net, one, paths[int(one[-1]) - 1]) for one in x])
    torch.testing.assert_close(net(x), expected)
    wrong = torch.stack([plainly(net, one, PATHS[0]) for one in x])
    assert not torch.allclose(net(x), wrong)


def test_the_size_is_that_in_the_papers_table() -> None:
    net = PathNetwork(784, 10, 10, 10, 5, 80)
    assert round(4 * sum(p.numel() for p in net.parameters()) / 1e6, 2) == 2.80


def test_renewing_replaces_all_modules_but_the_frozen_ones() -> None:
    net, fresh = learned(), network(seed=1)
    before = copy.deepcopy(net)
    net.renew(fresh)
    for layer, old, new in zip(net.layers, before.layers, fresh.layers, strict=True):
        for module in range(M):
            rows = layer.rows([module])
            source = old if layer.frozen[module] else new
            for name in ("weight", "bias"):
                own, wanted = (part.dense.get_parameter(name)[rows] for part in (layer, source))
                assert torch.equal(own, wanted)
    for own, old_weight in zip(net.output.parameters(), before.output.parameters(), strict=True):
        assert torch.equal(own, old_weight)


def test_partial_retraining_of_mixed_tasks() -> None:
    """Labels that only the task tells apart: its own output layer learns them, behind any cut."""
    net, x = learned(), mixed(120)
    data = Examples(x, (x[:, -1].long() - 1) % K)
    recipe = Recipe(epochs=20, batch_size=16, learning_rate=1e-2, init="torch")
    before = copy.deepcopy(net.state_dict())
    found = partial_retrain(net, FEATURES, data, data, [[0, 3], [1], [2]], recipe)
    assert found.pra["layer1"] > 0.95
    assert found.pra["layer2"] > 0.95
    assert found.pra["output"] < 0.8
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, before[name])


PATH = torch.tensor([[4, 0, 4], [1, 2, 3]])
TASK, CLASSES = 1, (3, 1)
WIDE = 8  # modules of two units may be dead, and learn nothing


def with_frozen(modules: list[list[int]]) -> PathNetwork:
    """One in which an earlier task has frozen some modules."""
    made = network(width=WIDE)
    made.keep(0, torch.tensor(modules))
    return made


def data(count: int = 40) -> Examples:
    x = torch.randn(count, D, generator=stream(0, "x"))
    return Examples(torch.cat([x, torch.full((count, 1), TASK + 1.0)], 1), (x[:, 0] > 0).long())


FROZEN = {"none on it": [[1], [0]], "some on it": [[0], [3]], "all on it": [[0, 4, 4], [1, 2, 3]]}


@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_it_computes_what_the_network_does_on_that_path(frozen: list[list[int]]) -> None:
    net, x = with_frozen(frozen), data().x
    lifted = LiftedPath(net, PATH, TASK, CLASSES)
    net.keep(TASK, PATH)
    with torch.no_grad():
        torch.testing.assert_close(lifted(x), net(x)[:, CLASSES])


@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_training_it_moves_only_what_is_free_on_the_path(frozen: list[list[int]]) -> None:
    net = with_frozen(frozen)
    before = copy.deepcopy(net)
    lifted = LiftedPath(net, PATH, TASK, CLASSES)
    fit(lifted, data(), Recipe(epochs=3, batch_size=8, learning_rate=0.01), stream(0, "fit"))
    assert all(map(torch.equal, net.parameters(), before.parameters()))
    lifted.put_back(net)
    for at, (layer, old) in enumerate(zip(net.layers, before.layers, strict=True)):
        free = set(PATH[at].tolist()) - set(frozen[at])
        moved = (layer.dense.weight != old.dense.weight).any(1).unflatten(0, (M, WIDE)).any(1)
        assert set(moved.nonzero().flatten().tolist()) == free
        still = [m for m in range(M) if m not in free]
        assert torch.equal(layer.dense.bias[layer.rows(still)], old.dense.bias[layer.rows(still)])
    moved = (net.output.dense.weight != before.output.dense.weight).any(1)
    assert set(moved.nonzero().flatten().tolist()) == {TASK * K + c for c in CLASSES}
    net.keep(TASK, PATH)
    with torch.no_grad():
        torch.testing.assert_close(lifted(data().x), net(data().x)[:, CLASSES])
