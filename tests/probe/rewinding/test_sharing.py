"""Causes are the same, to the last bit, whether hybrids share the beginnings of passes or not."""

import random
from itertools import product
from math import inf
from typing import TypeVar

import pandas as pd
import pytest
import torch
from torch import nn

import probe
from probe.by_layer.probing import Measure
from probe.cut import resuming
from probe.cut.cuts import Cuts, cut_each
from probe.cut.resuming import Starts
from probe.errors import InputError, NotKept
from probe.rewinding.blocks import Change, blocks_of
from probe.rewinding.hybrid_cuts import HybridCuts
from probe.rewinding.hybrids import sets_of
from probe.rewinding.sharing import SharedPasses
from probe.training.memory_format import channels_last

Tested = TypeVar("Tested")


class Residual(nn.Module):
    """A convolution in place, with its input added, and a number that may differ."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.slope = 0.1

    def forward(self, x):
        return x + nn.functional.leaky_relu_(self.norm(self.conv(x)), self.slope)


def network(seed, slope=0.1):
    torch.manual_seed(seed)
    model = nn.Sequential(Residual(), Residual(), nn.Flatten(), nn.Linear(64, 4))
    model(torch.randn(32, 4, 4, 4))
    model[1].slope = slope
    return model.eval()


def examples_of(tasks):
    torch.manual_seed(0)
    return [
        (torch.randn(7 + k, 4, 4, 4), torch.randint(3, (7 + k,))) for k in range(tasks)
    ]


def margin(model, x, y):
    return model(x).gather(1, y[:, None])[:, 0]


@pytest.fixture
def shared(monkeypatch):
    """The passes that were shared to the end."""
    passes = []
    tested = SharedPasses.run_test

    def noted(self, test, samples):
        result = tested(self, test, samples)
        if result is not None:
            passes.append(self)
        return result

    monkeypatch.setattr(SharedPasses, "run_test", noted)
    return passes


@pytest.mark.parametrize(
    ("score", "slope", "hybrids", "times"),
    [
        ("accuracy", 0.1, 256, 2),
        ("loss", 0.1, 7, 2),
        # A score may read more than logits, and an attribute may act anywhere.
        (margin, 0.1, 256, 0),
        ("loss", 0.3, 256, 0),
    ],
)
def test_causes(
    score,
    slope,
    hybrids,
    times,
    shared,
    monkeypatch,
):
    networks = {
        1: network(1),
        2: network(2),
        3: network(3, slope),
    }
    tables = []
    for worth in (0, inf):
        monkeypatch.setattr(resuming, "_WORTH", worth)
        table = probe.causes(
            networks, examples_of(3), score, ["0.conv", "0", "1"], hybrids, 3, long=True
        )
        tables.append(table)
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert len(shared) == times


def test_diff(shared, monkeypatch):
    old, new = examples_of(2)
    tables = []
    for worth in (0, inf):
        monkeypatch.setattr(resuming, "_WORTH", worth)
        difference = probe.diff(network(1), network(2), old, new)
        tables.append(pd.concat([difference.causes, difference.remedies]))
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert len(shared) == 1


@pytest.mark.parametrize(("head", "hybrids"), [("single", 256), ("multi", 7)])
def test_analyze(
    head,
    hybrids,
    shared,
    monkeypatch,
):
    torch.manual_seed(0)
    data = torch.randn(32, 4, 4, 4), torch.arange(32) % 4
    networks = {tasks_seen: network(tasks_seen) for tasks_seen in range(3)}
    tables = []
    for worth in (0, inf):
        monkeypatch.setattr(resuming, "_WORTH", worth)
        result = probe.analyze(
            probe.Model(networks, head=head),
            data,
            data,
            [[0, 1], [2, 3]],
            ["0.conv", "0", "1"],
            offline=network(5),
            readouts=Measure(readouts=["ncm"], hybrids=hybrids),
        )
        tables.append(pd.concat([result.causes(), result.layers()]))
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    # Sets of blocks, readouts with a block and with the blocks upstream of it.
    assert len(shared) == 3


class Leveled(nn.Sequential):
    """Layers that count how deep they are called, which a pass that ends early never undoes."""

    def __init__(self, seed):
        super().__init__(*network(seed))
        self.level = 0

    def forward(self, x):
        self.level += 1
        y = super().forward(x)
        self.level -= 1
        return y


def test_no_attribute_stays_changed(shared, monkeypatch):
    monkeypatch.setattr(resuming, "_WORTH", 0)
    data = torch.randn(32, 4, 4, 4), torch.arange(32) % 4
    networks = {tasks_seen: Leveled(tasks_seen).eval() for tasks_seen in range(3)}
    probe.analyze(
        networks,
        data,
        data,
        [[0, 1], [2, 3]],
        ["0", "1"],
        readouts=["ncm"],
    )
    assert [each.level for each in networks.values()] == [0, 0, 0]
    # Tests of sets of blocks run to the end, readouts do not.
    assert len(shared) == 1


def test_hybrids_that_allow_different_layouts_are_read_one_by_one(
    monkeypatch,
):
    model = network(1)
    cuts = cut_each(model, ["0"], torch.randn(8, 4, 4, 4))
    shared = SharedPasses(
        change=Change(earlier=model, last=model, blocks={}),
        starts=Starts.at(cuts.each),
        run=model,
    )
    hybrids = HybridCuts(each=cuts.each, shared=shared, put_back={"0": ()})
    monkeypatch.setattr(Cuts, "_same_in_both_layouts", lambda cuts: [True, False])
    with pytest.raises(NotKept, match="layouts"):
        list(hybrids.feature_values([torch.randn(8, 4, 4, 4)]))


def test_features():
    """Of any sets of blocks put back, also where a batch is of another size.

    A cut at the larger images keeps the smaller ones upstream.
    """
    names = ["0.conv", "1", "3"]
    networks = [network(seed) for seed in range(2)]
    for each in networks:
        each.insert(1, nn.Upsample(scale_factor=2))
        each.insert(2, nn.AvgPool2d(2))
    earlier, model = networks
    x = torch.randn(32, 4, 4, 4)
    batches = [x, x[:5]]
    cuts = cut_each(model, names, x)
    blocks = blocks_of(model, cuts.facts, "5")
    change = Change(earlier=earlier, last=model, blocks=blocks)
    shared = SharedPasses(
        change=change,
        starts=Starts.at(cuts.each),
        run=model,
    )
    triples = list(product(sets_of(change.changed), repeat=3))
    for sets in random.Random(0).sample(triples, 20):
        put_back = dict(zip(names, sets, strict=True))
        hybrids = HybridCuts(
            each=cuts.each,
            shared=shared,
            put_back=put_back,
        )
        values = hybrids.feature_values(batches)
        for batch, name in product(batches, names):
            layer = model.get_submodule(name)
            seen = []
            keep = layer.register_forward_hook(
                lambda module, inputs, output, seen=seen: seen.append(output.clone())
            )
            with change.rewound(put_back[name]), torch.no_grad(), keep:
                model(channels_last(batch))
            _, feature, [value] = next(values)
            [expected] = seen
            assert feature == name
            assert torch.equal(value, expected)


def test_passes_that_are_wrong_are_not_shared(shared, monkeypatch):
    """A few examples show it; here no value is said to depend on any weight."""
    networks = {
        1: network(1),
        2: network(2),
    }
    expected = probe.causes(networks, examples_of(2), features=["0", "1"])
    monkeypatch.setattr(resuming, "_WORTH", 0)
    monkeypatch.setattr(Starts, "weights", [frozenset[str]()] * 3)
    table = probe.causes(networks, examples_of(2), features=["0", "1"])
    pd.testing.assert_frame_equal(table, expected, check_exact=True)
    assert not shared


class Pooled(nn.Module):
    """A mean over positions, whose number differs between tasks, that counts its depth."""

    def __init__(self, *, in_a_list):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.last = nn.Linear(4, 4)
        self.depth = 0
        self.depths = [1]
        self.in_a_list = in_a_list

    def forward(self, x):
        self.depth += 1
        if self.in_a_list:
            self.depths.append(1)
        hidden = self.first(x).relu()
        if len(x) > 8 and x.shape[1] == 5:
            hidden = hidden + x
        value = self.second(hidden).sum(1) / x.shape[1]
        self.depth -= 1
        self.depths = [1]
        return self.last(value) / (self.depth + 1)


LIKE = [torch.randn(20, 3, 4)] * 3


@pytest.mark.parametrize(
    ("inputs", "times"),
    [
        (LIKE, 2),
        # Other lengths; and a way past the first block, which 8 examples do not take.
        ([*LIKE[:2], torch.randn(20, 4, 4)], 0),
        ([torch.randn(20, 5, 4)] * 3, 0),
    ],
)
def test_examples_unlike_those_by_which_a_network_is_cut(
    inputs,
    times,
    shared,
    monkeypatch,
):
    networks = {k: Pooled(in_a_list=False).eval() for k in (1, 2, 3)}
    test = [(x, torch.arange(20) % 4) for x in inputs]
    tables = []
    for worth in (0, inf):
        monkeypatch.setattr(resuming, "_WORTH", worth)
        table = probe.causes(networks, test, "loss", ["first", "second"], long=True)
        tables.append(table)
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert len(shared) == times


def test_an_interrupted_pass_that_leaves_a_longer_list(
    monkeypatch,
):
    monkeypatch.setattr(resuming, "_WORTH", 0)
    networks = {
        1: Pooled(in_a_list=True).eval(),
        2: Pooled(in_a_list=True).eval(),
    }
    test = [(torch.randn(20, 5, 4), torch.arange(20) % 4)] * 2
    with pytest.raises(InputError, match="use try and finally"):
        probe.causes(networks, test, "loss", ["first", "second"])
