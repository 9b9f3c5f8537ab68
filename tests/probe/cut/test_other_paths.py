"""A feature is the k-th output of its module, whatever path a batch takes to it."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.modules import tap
from probe.readouts.matrix import feature_matrices
from tests.laws.zoo.written import Written

LAYERS = {
    "stem": (6, 6),
    "experts": lambda: nn.ModuleList(expert() for _ in range(4)),
    "mark": nn.Identity,
    "head": (6, 3),
}
EXAMPLES = 90


def expert():
    return nn.Sequential(
        nn.Linear(6, 6),
        nn.BatchNorm1d(6),
        nn.Dropout(),
    )


def experts(m, x):
    """Expert 3 is for a single example, the last."""
    h = m.stem(x)
    choice = torch.where(x[:, 0] > 9, 3, (x[:, 1] > 0).long())
    out = torch.zeros_like(h)
    for number, expert in enumerate(m.experts):
        rows = (choice == number).nonzero()[:, 0]
        if rows.numel():
            out = out.index_add(0, rows, expert(h[rows]))
    return m.head(m.mark(h + out).relu())


def masked(m, x):
    """A mask of what is below -1 is left out where nothing is."""
    h = m.stem(x)
    below = x < -1
    if below.any():
        h = h.masked_fill(below, 0)
    return m.head(m.mark(h.sin()).relu())


def chunked(m, x):
    parts = [F.layer_norm(part, (6,)) for part in m.stem(x).split(16)]
    return m.head(m.mark(torch.cat(parts)))


def inputs():
    """Return the inputs, the first of which are like each other."""
    x = torch.randn(EXAMPLES, 6)
    x[:8] = x[:8].abs()
    x[-1, 0] = 10
    return x


@pytest.mark.parametrize(
    "forward",
    [
        experts,
        masked,
        chunked,
    ],
)
def test_values_are_those_of_the_module_on_every_path(forward):
    model = Written(forward, LAYERS).eval()
    x = inputs()
    seen = []
    with torch.no_grad(), tap(model, ["mark"], lambda name, value: seen.append(value)):
        model(x)
    for tails in (False, True):
        cuts = cut_each(model, ["stem", "mark"], x[:8], tails=tails)
        values = feature_matrices(cuts, x, batch_size=40)["mark"][0]
        torch.testing.assert_close(values, seen[0])
        others = cuts.of(Written(forward, LAYERS), tails)
        assert feature_matrices(others, x)["mark"][0].shape == values.shape


def test_what_any_example_needs_is_held_fixed():
    """Also what only one of them does, with its batch norm and dropout."""
    torch.manual_seed(0)
    model = Written(experts, LAYERS).eval()
    x = inputs()
    [cut] = cut_each(model, ["mark"], x[:8]).each
    assert not any("experts.3" in name for name in cut.facts.frozen)
    again = cut.again(x, "some batches take another path", whole=True)
    frozen = again.split().frozen
    assert {name for name in frozen if "experts.3" in name} > {"experts.3.0.weight"}
    assert not any("experts.2" in name for name in frozen)  # no example takes it
    tail = again.split().tail.train()
    seen = []
    with tap(tail.model, ["mark"], lambda name, value: seen.append(value.detach())):
        for _ in range(3):
            tail(x).square().sum().backward()
    assert torch.equal(seen[0], seen[-1])
    state = dict(tail.model.named_buffers())
    assert int(state["experts.3.1.num_batches_tracked"]) == 0
    assert tail.model.experts[3][0].weight.grad is None


def swapped(m, x):
    """The mark comes before or behind the second layer, as the first example says."""
    h = m.stem(x)
    if x[0, 0] > 9:
        return m.head(m.last(m.mark(m.turn(h))))
    return m.head(m.last(m.turn(m.mark(h))))


def rarely(m, x):
    h = m.stem(x)
    if (x[:, 0] > 9).any():
        h = m.mark(h)
    return m.head(m.last(h))


def often(m, x):
    h = torch.cat([m.mark(part) for part in m.stem(x).split(16)])
    return m.head(m.last(h))


@pytest.mark.parametrize(
    ("forward", "named"),
    [
        (swapped, "'turn.bias'"),
        (rarely, "runs 0 times"),
        (often, "(40, 6)"),
    ],
)
def test_another_feature_in_some_batches_is_refused_and_layers_beside_it_are_not(
    forward, named
):
    layers = {
        **LAYERS,
        "mark": nn.Tanh,
        "turn": (6, 6),
        "last": nn.ReLU,
    }
    model = Written(forward, layers)
    x = inputs().flip(0)
    sample = x[:8] if forward is rarely else x[1:9]
    feature_matrices(cut_each(model, ["stem", "last"], sample), x, 40)
    with pytest.raises(InputError, match=re.escape(named)):
        feature_matrices(cut_each(model, ["mark"], sample, tails=False), x, 40)
