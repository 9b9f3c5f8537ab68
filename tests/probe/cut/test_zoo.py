"""Every law on every nasty network, and on a few of torchvision's; `make zoo` runs them all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from probe.cut.split import Split, split
from probe.modules import mode
from tests.zoo_cuts.case import case_of
from tests.zoo_cuts.examine import examine_all
from tests.zoo_cuts.laws import LAWS
from tests.zoo_cuts.nasty import NASTY
from tests.zoo_cuts.net import Net
from tests.zoo_cuts.random_nets import random_net
from tests.zoo_cuts.torchvision_nets import TORCHVISION

FEW = {
    "shufflenet": {"stage2.0.branch1.1"},
    "densenet": {"features.denseblock1", "features.denseblock2.denselayer2.conv2"},
    "vit": {"encoder.layers.encoder_layer_1", "encoder.layers.encoder_layer_1.mlp.2"},
    "convnext": {"features.1.1", "features.1.1.stochastic_depth"},
    "swin_v2": {"features.2"},
}


def broken(net: Net, features: set[str] | None = None) -> list[str]:
    verdicts = examine_all(net, features)
    return [f"{v.feature}: {line}" for v in verdicts for line in v.broken]


@pytest.mark.parametrize("name", NASTY)
def test_nasty_networks_are_cut_rightly(name: str) -> None:
    assert broken(NASTY[name]) == []


@pytest.mark.parametrize("name", FEW)
def test_torchvision_networks_are_cut_rightly(name: str) -> None:
    assert broken(TORCHVISION[name], FEW[name]) == []


@pytest.mark.parametrize("number", range(6))
def test_random_networks_are_cut_rightly(number: int) -> None:
    net = random_net(number)
    if net is None:
        pytest.skip("autograd refuses it")
    assert broken(net) == []


def test_inference_with_fused_attention_agrees_up_to_rounding() -> None:
    model, sample, x = NASTY["transformer_layers"].made()
    assert torch.backends.mha.get_fastpath_enabled()
    cut = split(model, "a", sample)
    with mode(model, training=False), mode(cut.tail, training=False), torch.no_grad():
        torch.testing.assert_close(cut.tail(cut.prefix(x)), model(x), rtol=1e-4, atol=1e-5)


class Around(nn.Module):
    """A part of a cut, tampered with."""

    def __init__(self, inner: nn.Module, tamper: Callable[[Any], Any]) -> None:
        super().__init__()
        self.inner, self.tamper = inner, tamper

    def forward(self, value: Any) -> Any:
        return self.tamper(self.inner(value))


class NeverTrains(Around):
    def train(self, mode: bool = True) -> NeverTrains:
        return super().train(False)


class Drifting(Around):
    """Gives another value once it has been asked often enough."""

    asked = 0

    def forward(self, value: Any) -> Any:
        self.asked += 1
        return tree_map(lambda tensor: tensor + (self.asked > 2), super().forward(value))


def unchanged(value: Any) -> Any:
    return value


def scaled(value: Tensor) -> Tensor:
    return value * 1.001


def mixed(value: Any) -> Any:
    return tree_map(lambda tensor: tensor + tensor.mean(0), value)


def frozen(cut: Split, more: set[str], less: set[str]) -> Split:
    return replace(cut, frozen=tuple((set(cut.frozen) | more) - less))


TAMPERED: list[tuple[str, Callable[[Split], Split]]] = [
    ("identity", lambda cut: replace(cut, tail=Around(cut.tail, scaled))),
    ("gradients", lambda cut: replace(cut, tail=Around(cut.tail, scaled))),
    ("rows", lambda cut: replace(cut, prefix=Around(cut.prefix, mixed))),
    ("train", lambda cut: replace(cut, tail=NeverTrains(cut.tail, unchanged))),
    ("live", lambda cut: replace(cut, tail=NeverTrains(cut.tail, unchanged))),
    ("unchanged", lambda cut: replace(cut, prefix=Drifting(cut.prefix, unchanged))),
    ("frozen", lambda cut: frozen(cut, set(), {"a.weight"})),
    ("frozen", lambda cut: frozen(cut, set(), {"norm.running_var"})),
    ("frozen", lambda cut: frozen(cut, {"c.bias"}, set())),
    ("gradients", lambda cut: frozen(cut, {"c.bias"}, set())),
    ("gradients", lambda cut: frozen(cut, set(), {"a.bias"})),
    ("gradients", lambda cut: replace(cut, trainable=False)),
]


@pytest.mark.parametrize(("law", "tamper"), TAMPERED)
def test_a_wrong_cut_breaks_the_law(law: str, tamper: Callable[[Split], Split]) -> None:
    """The negative control: each law can fail, and holds for what was not tampered with."""
    net = NASTY["dropout_on_both_sides"]
    model, sample, x = net.made()
    right = split(model, "norm", sample)
    LAWS[law](case_of(net, model, "norm", right, x))
    wrong = tamper(copy.deepcopy(split(model, "norm", sample)))
    with pytest.raises(AssertionError):
        LAWS[law](case_of(net, model, "norm", wrong, x))
