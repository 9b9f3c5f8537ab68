"""The law of rewinding: with all blocks put back it is the earlier network, or nothing is said."""

import math
import warnings
from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

import probe
from probe.errors import InputError
from probe.rewinding.attributes import attribute_digest
from tests.probe.record.tiny import same_state

D = 6
K = 4
N = 24
DRAW = torch.Generator().manual_seed(5)
TESTS = [(torch.randn(N, D, generator=DRAW), torch.arange(N) % K) for _ in range(2)]
FEATURES = ["first", "second"]
KINDS = [
    "chain",
    "residual",
    "tied",
    "norm",
    "grown",
    "adapters",
    "mask",
    "gain",
    "text",
]


class Adapted(nn.Module):
    """A linear layer with two adapters, of which the one named by a plain attribute is active."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(D, D)
        self.adapters = nn.ModuleDict({name: nn.Linear(D, D) for name in ("a", "b")})
        self.active = "a"

    def forward(self, x):
        return self.base(x) + self.adapters[self.active](x)


class Net(nn.Module):
    """Three layers, whose output also depends on plain attributes."""

    def __init__(self, kind, classes=K):
        super().__init__()
        self.kind = kind
        self.first = Adapted() if kind == "adapters" else nn.Linear(D, D)
        self.norm = nn.BatchNorm1d(D)
        self.second = nn.Linear(D, D)
        self.last = nn.Linear(D, classes)
        self.masks = {"now": torch.ones(D)}
        self.second.gain = 1.0
        self.sign = "plus"
        if kind == "tied":
            self.second.weight = self.first.weight

    def forward(self, x):
        h = self.first(x)
        h = self.norm(h) if self.kind == "norm" else h
        h = h.relu() * self.masks["now"]
        h = self.second(h) * self.second.gain + (h if self.kind == "residual" else 0)
        return self.last(h.relu()) * (1 if self.sign == "plus" else -1)


class Prompted(Net):
    """A network whose input is moved by a prompt of some rows."""

    def forward(self, x):
        return super().forward(x + 5 * self.prompt.sum(0))


def pair(kind, seed):
    """Return two networks of one training, of which the second differs by what the kind names."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        before = Net(kind, K - 1 if kind == "grown" else K)
        after = Net(kind)
    with torch.no_grad():
        state = after.state_dict()
        for name, tensor in before.state_dict().items():
            if tensor.dim():
                state[name][: len(tensor)] = tensor
        after.load_state_dict({name: tensor.clone() for name, tensor in state.items()})
        for tensor in [*after.parameters(), after.norm.running_mean]:
            tensor.add_(
                0.3
                * torch.randn(
                    tensor.shape,
                    generator=generator,
                )
            )
    changes = {
        "adapters": lambda: setattr(after.first, "active", "b"),
        "mask": lambda: after.masks.update(now=(torch.arange(D) % 2).float()),
        "gain": lambda: setattr(after.second, "gain", -0.5),
        "text": lambda: setattr(after, "sign", "minus"),
    }
    changes.get(kind, lambda: None)()
    return {1: before, 2: after}


def right(net, position=1):
    x, y = TESTS[position - 1]
    with torch.no_grad():
        return net.eval()(x).argmax(1).eq(y).double().numpy()


def table(networks, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return probe.causes(
            networks,
            TESTS,
            features=FEATURES,
            **settings,
        )


def stored_states(networks):
    return {
        j: (deepcopy(net.state_dict()), attribute_digest(net))
        for j, net in networks.items()
    }


def assert_unchanged(networks, states):
    for j, (state, digest) in states.items():
        assert attribute_digest(networks[j]) == digest
        assert same_state(networks[j].state_dict(), state)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_the_law_holds_pieces_add_up_and_networks_are_unchanged(kind, seed):
    networks = pair(kind, seed)
    states = stored_states(networks)
    long = table(networks, long=True)
    value = long[long["task_position"].isna()].set_index(["feature", "quantity"])[
        "value"
    ]
    saved = right(networks[1]).mean()
    now = right(networks[2]).mean()
    # Only what has grown since competes besides.
    assert value["", "forgotten"] == pytest.approx(saved - now)
    assert kind == "grown" or value["", "competition"] == 0
    if not long.attrs["withheld"]:
        shares = value[value.index.get_level_values("quantity") == "attributed"]
        assert shares.sum() == pytest.approx(value["", "lost"])
    assert_unchanged(networks, states)


def test_a_hook_is_named_even_if_the_earlier_network_would_not_mind():
    networks = pair("chain", 4)
    networks[2].last.register_forward_hook(lambda module, inputs, output: output * 2)
    with pytest.warns(
        UserWarning, match="withheld after task 1: .*last._forward_hooks"
    ):
        result = probe.causes(networks, TESTS, features=FEATURES)
    assert set(result["verdict"]) == {"withheld"}
    assert result["share"].isna().all()
    assert math.isnan(result.attrs["lost"][0])


def test_rows_that_come_without_new_outputs_are_no_competition():
    """As of a prompt that grows: with all blocks put back it is not the earlier network."""
    networks = pair("chain", 5)
    for j, rows in ((1, 1), (2, 2)):
        networks[j].prompt = nn.Parameter(torch.ones(rows, D) * j)
        networks[j].__class__ = Prompted
    with pytest.warns(UserWarning, match="causes withheld after task 1"):
        long = probe.causes(
            networks,
            TESTS,
            features=FEATURES,
            long=True,
        )
    assert "competition" not in set(long["quantity"])


@pytest.mark.parametrize("error", [KeyboardInterrupt, InputError])
def test_networks_are_unchanged_after_an_interruption(error):
    networks = pair("gain", 1)
    states = stored_states(networks)
    calls = []

    def score(model, x, y):
        calls.append(model)
        if len(calls) == 4:
            raise error("stop")
        return -cross_entropy(model(x), y, reduction="none")

    with pytest.raises(error):
        table(networks, score=score)
    assert_unchanged(networks, states)


def test_equal_weights_with_another_attribute_are_another_network():
    networks = pair("gain", 2)
    networks[2].load_state_dict(networks[1].state_dict())
    for last, is_same in ((networks[2], False), (deepcopy(networks[1]), True)):
        models = {1: networks[1], 2: last}
        tasks = [[0, 1], [2, 3]]
        result = probe.analyze(
            models, TESTS[0], TESTS[0], tasks, FEATURES, readouts=["linear"]
        )
        assert any("bit for bit" in note for note in result.notes) == is_same


def test_all_examples_alike_are_no_certainty():
    networks = pair("chain", 6)
    with torch.no_grad():
        for net, bias in zip(networks.values(), (0.0, 1e6), strict=True):
            net.last.bias[K - 1] += bias
    x = TESTS[0][0]
    y = networks[1].eval()(x).argmax(1)
    data = [(x[y != K - 1], y[y != K - 1])] * 2
    result = probe.causes(networks, data, features=FEATURES)
    value, low, high = result.attrs["lost"]
    assert (value, high) == (1, 1)
    assert low < 1 - 1 / len(data[0][1])


def test_three_trainings_speak_of_the_training_and_one_of_its_network():
    networks = pair("chain", 3)
    by_seed = dict.fromkeys(range(3), networks)
    assert table(by_seed).attrs["scope"] == "training"
    assert table(networks).attrs["scope"] == "network"
