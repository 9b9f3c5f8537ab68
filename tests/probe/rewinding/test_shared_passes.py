"""Passes that share outputs give what each pass gives by itself, bit for bit."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import probe
from probe.modules import copied, named_state
from probe.rewinding import shared_passes as sharing
from probe.rewinding.blocks import Changed, Earlier, rewound
from probe.rewinding.hybrids import names_in, rewind
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.specimens import CHAINS

ZOO = {**HOSTILE, **CHAINS}


def parted(network, count):
    """Part all tensors into so many blocks, in the order in which the network names them."""
    names = [n for n, t in named_state(network).items() if t.is_floating_point()]
    in_turn = {}
    mixed = {}
    for k, part in enumerate(np.array_split(np.array(names, dtype=object), count)):
        in_turn[str(k)] = Changed(tensors=tuple(part))
        mixed[str(k)] = Changed(tensors=tuple(names[k::count]))
    return in_turn, mixed


def differing(network):
    """Return a copy of a network, with other values everywhere."""
    earlier = copied(network)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in named_state(earlier).values():
            if tensor.is_floating_point():
                noise = torch.rand(tensor.shape, generator=generator)
                tensor += 0.1 * noise
    return earlier


@contextmanager
def shared(network, before, changed, x, call):
    """Share passes, also where it costs more than it spares."""

    def put_back(mask):
        names = names_in(mask, changed)
        return rewound(network, [changed[name] for name in names], before)

    with (
        patch.object(sharing, "_LEAST", 0),
        sharing.shared_passes(network, changed, lambda: call(x), put_back) as passes,
    ):
        yield passes


def compare(network, x, call, changed):
    """Return whether passes were shared, after comparing each with a pass by itself."""
    before = Earlier.of(differing(network), network)

    def tested(_):
        return call(x)

    with torch.no_grad():
        plain = rewind(network, before, changed, tested)
        with shared(network, before, changed, x, call) as passes:
            for _ in range(2):  # a second batch begins anew
                found = rewind(network, before, changed, tested, passes=passes)
                assert found.keys() == plain.keys()
                for names, output in found.items():
                    assert torch.equal(output, plain[names]), names
        after = rewind(network, before, changed, tested)
    assert all(torch.equal(after[names], output) for names, output in plain.items())
    return passes is not None


@pytest.mark.parametrize("name", ZOO)
def test_they_do_in_hostile_networks_however_parted(name):
    net = ZOO[name]
    network, x, others = net.made()
    network.eval()

    def call(inputs):
        if isinstance(inputs, dict):
            return net.logits(network(**inputs))
        if isinstance(inputs, tuple):
            return net.logits(network(*inputs))
        return net.logits(network(inputs))

    try:
        first, _, again = call(x), call(others), call(x)
    except Exception:
        pytest.skip("it is called in another way")
    if not torch.equal(first, again):
        pytest.skip("its outputs are drawn, or depend on what was asked before")
    for changed in parted(network, 4):
        compare(network, x, call, changed)


class Hard(nn.Module):
    """Layers a, b, c, d in a row, combined in a way that sharing must not take for another."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        for name in "abcd":
            setattr(self, name, nn.Linear(6, 6))
        self.relu = nn.ReLU(inplace=True)
        self.same = nn.Identity()

    def forward(self, x):
        if self.kind == "read before it is called":
            x = functional.linear(x, self.d.weight)
        h = self.a(x)
        if self.kind == "written into":
            h = h + self.relu(h)
        if self.kind == "a view":
            same = self.same(h)
            same += 1
        if self.kind == "another path" and h.sum() > 0:
            h = self.c(h)
        h = self.b(h)
        if self.kind == "never called":
            return functional.linear(self.c(h), self.d.weight)
        return self.d(self.c(h).tanh())


KINDS = (
    "in a row",
    "written into",
    "a view",
    "another path",
    "read before it is called",
    "never called",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_read_or_called_otherwise_is_seen(kind):
    torch.manual_seed(0)
    network = Hard(kind).eval()
    changed, _ = parted(network, 4)
    is_shared = compare(network, torch.randn(5, 6), network, changed)
    assert is_shared == (kind != "read before it is called")


def test_of_six_layers_in_a_row_64_networks_need_126_calls_of_384():
    layers = [nn.Linear(4, 4) for _ in range(6)]
    network = nn.Sequential(*layers).eval()
    changed, _ = parted(network, 6)
    x = torch.randn(3, 4)
    before = Earlier.of(differing(network), network)
    products = []
    with torch.no_grad(), shared(network, before, changed, x, network) as passes:
        linear = functional.linear

        def counted(*args):
            products.append(args)
            return linear(*args)

        with patch.object(functional, "linear", counted):
            rewind(network, before, changed, lambda _: network(x), passes=passes)
    assert len(products) == 2 + 4 + 8 + 16 + 32 + 64 == 126


@pytest.mark.parametrize("score", ["accuracy", "loss", lambda m, x, y: m(x)[:, 0]])
def test_causes_are_the_same_with_and_without(score):
    torch.manual_seed(0)
    layers = [
        nn.Conv2d(1, 8, 3),
        nn.ReLU(inplace=True),
        nn.BatchNorm2d(8),
        nn.Flatten(),
    ]
    network = nn.Sequential(*layers, nn.Linear(288, 8), nn.ReLU(), nn.Linear(8, 4))
    nets = {1: differing(network), 2: network}
    test = [(torch.randn(150, 1, 8, 8), torch.arange(150) % 4) for _ in range(2)]
    tables = []
    for least in (0, 2**60):
        with patch.object(sharing, "_LEAST", least):
            tables.append(probe.causes(nets, test, score=score, long=True))
    assert tables[0].equals(tables[1])
    assert tables[0]["value"].abs().max() > 0
