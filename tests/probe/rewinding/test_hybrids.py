"""Rewinding against networks put together apart, on chains, residuals, ties and batch norm."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn.utils.parametrize import register_parametrization

from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.modules import named_state
from probe.rewinding.blocks import (
    Change,
    Changed,
    Earlier,
    blocks_of,
    rewound,
    with_new_rows,
)
from probe.rewinding.hybrids import rewind
from tests.probe.record.tiny import same_state

D, K = 6, 4


class LowRank(nn.Module):
    """A low-rank change of a weight, as LoRA trains it."""

    def __init__(self):
        super().__init__()
        self.down, self.up = (
            nn.Parameter(torch.randn(2, D)),
            nn.Parameter(torch.randn(D, 2)),
        )

    def forward(self, weight):
        return weight + self.up @ self.down


class Net(nn.Module):
    """Three layers of width D, perhaps with a residual, a tied weight, batch norm, or LoRA.

    The second layer has a gain, which is a plain attribute.
    """

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.first, self.second = nn.Linear(D, D), nn.Linear(D, D)
        self.norm = nn.BatchNorm1d(D) if kind == "norm" else nn.ReLU()
        self.last = nn.Linear(D, K)
        if kind == "tied":
            self.second.weight = self.first.weight
        if kind == "lora":
            register_parametrization(self.second, "weight", LowRank())

    def forward(self, x):
        h = self.norm(self.first(x))
        h = self.second.gain * self.second(h).relu() + (
            h if self.kind == "residual" else 0
        )
        return self.last(h)


def network(kind, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = Net(kind)
        for buffer in net.buffers():
            buffer.copy_(torch.rand(buffer.shape) + 1)
        net.second.gain = float(torch.rand(()) - 0.5)
    return net.eval()


def blocks(net):
    x = torch.randn(
        8,
        D,
        generator=torch.Generator().manual_seed(0),
    )
    cuts = cut_each(net, ["norm", "second"], x)
    return blocks_of(net, [cut.facts for cut in cuts.each], "last")


X = torch.randn(
    40,
    D,
    generator=torch.Generator().manual_seed(1),
)
Y = torch.arange(40) % K


@torch.no_grad()
def score(net, everywhere):
    n = 40 if everywhere else 10
    return (net(X[:n]).argmax(1) == Y[:n]).double().numpy()


@pytest.mark.parametrize(
    "kind",
    ["chain", "residual", "tied", "norm", "lora"],
)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**16),
    same=st.sets(st.sampled_from(["norm", "second", "last"])),
)
def test_every_hybrid_is_the_network_put_together_apart(kind, seed, same):
    before, now = network(kind, seed), network(kind, seed + 1)
    parts = blocks(now)
    with torch.no_grad():
        for block in same:
            for name in parts[block]:
                named_state(now)[name].copy_(named_state(before)[name])
    if "second" in same:
        now.second.gain = before.second.gain
    copied = deepcopy(now)
    change = Change(earlier=before, last=now, blocks=parts)
    tested = rewind(change, partial(score, now))
    assert set().union(*tested) == set(parts) - same
    for names, scores in tested.items():
        hybrid = deepcopy(now)
        state = named_state(hybrid)
        with torch.no_grad():
            for block in names:
                for name in parts[block]:
                    state[name].copy_(named_state(before)[name])
        if "second" in names:
            hybrid.second.gain = before.second.gain
        assert (scores == score(hybrid, len(names) < 2)).all()
    assert_same(now, copied)


def assert_same(network, copied):
    assert same_state(network.state_dict(), copied.state_dict())
    assert network.second.gain == copied.second.gain


def test_a_block_has_what_its_feature_depends_on_and_no_earlier_one_does():
    assert blocks(network("chain", 0)) == {
        "norm": ("first.weight", "first.bias"),
        "second": ("second.weight", "second.bias"),
        "last": ("last.weight", "last.bias"),
    }
    tied = blocks(network("tied", 0))
    assert tied["norm"] == ("first.weight", "first.bias")
    assert tied["second"] == ("second.bias",)
    norm = blocks(network("norm", 0))["norm"]
    assert {"norm.running_mean", "norm.running_var", "norm.weight"} <= set(norm)
    assert not any("num_batches" in name for block in norm for name in block)


def test_what_lora_trains_belongs_to_the_block_of_its_layer_and_a_frozen_base_has_not_changed():
    before = network("lora", 0)
    now = deepcopy(before)
    with torch.no_grad():
        now.second.parametrizations.weight[0].up.add_(1)
    change = Change(earlier=before, last=now, blocks=blocks(now))
    tested = rewind(change, partial(score, now))
    assert set(tested) == {(), ("second",)}
    assert (tested["second",] == score(before, True)).all()


def test_a_head_that_has_grown_gets_its_earlier_rows_back():
    before, now = nn.Linear(3, 2), nn.Linear(3, 5)
    state = deepcopy(named_state(now))
    head = Changed(tensors=("weight", "bias"))
    earlier = Earlier(state=named_state(before))
    with rewound(now, [head], earlier):
        assert torch.equal(now.weight[:2], before.weight)
        assert torch.equal(now.weight[2:], state["weight"][2:])
    with rewound(now, [head], earlier, grown=False):
        assert torch.equal(now.weight, before.weight)
    assert same_state(named_state(now), state)


def test_only_rows_may_be_added():
    with pytest.raises(InputError, match="'weight' has shape"):
        with_new_rows("weight", torch.ones(()), torch.ones(3))


def test_a_network_is_as_before_after_a_failure_too():
    before, now = network("norm", 0), network("norm", 1)
    copied = deepcopy(now)
    change = Change(earlier=before, last=now, blocks=blocks(now))

    def failing(calls, everywhere):
        calls.append(0)
        if len(calls) == 3:
            raise RuntimeError("stop")
        return score(now, everywhere)

    with pytest.raises(RuntimeError, match="stop"):
        rewind(change, partial(failing, []))
    assert_same(now, copied)
    assert set(change.changed) == set(blocks(now))
