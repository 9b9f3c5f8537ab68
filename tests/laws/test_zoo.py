"""Every law on every hostile network, and on a few of libraries; `make zoo` runs them all."""

from __future__ import annotations

import copy
import importlib
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map

from probe.cut.cuts import split
from probe.modules import architecture, architecture_difference, reals_in, unwrapped
from probe.record.state_files import fit_state, load_state
from tests.laws.zoo.case import case_of
from tests.laws.zoo.drawn import random_net
from tests.laws.zoo.examine import RETRAINED, examine_all
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.laws import LAWS
from tests.laws.zoo.net import CACHED
from tests.laws.zoo.specimens import CHAINS

LIBRARIES = {
    "torchvision": "shufflenet densenet vit convnext swin_v2",
    "timm": "beit_base_patch16_224 test_vit3 swinv2_cr_tiny_224 test_efficientnet convformer "
    "resmlp nest test_nfnet densenet121",
    "transformers": (
        "bert deberta_v2 funnel gptj mistral opt whisper swin dinov2 poolformer"
    ),
}
SLOWEST = (
    "shufflenet",
    "swin_v2",
    "deberta_v2",
    "funnel",
    "convnext",
    "opt",
    "mistral",
    "gptj",
    "dinov2",
    "poolformer",
    "vit",
)
SMALL = {**HOSTILE, **CHAINS}
LIBRARY_NETS = []
for library, names in LIBRARIES.items():
    for name in names.split():
        marks = [pytest.mark.soak] if name in SLOWEST else []
        LIBRARY_NETS.append(pytest.param(library, name, marks=marks))


def broken(net):
    return [(v.feature, v.broken) for v in examine_all(net) if v.broken]


@pytest.mark.parametrize("name", SMALL)
def test_small_networks_are_cut_rightly(name):
    assert broken(SMALL[name]) == []


@pytest.mark.parametrize("name", SMALL)
def test_a_network_built_twice_takes_the_weights_in_a_file(name, tmp_path):
    first = SMALL[name].made()[0]
    second = SMALL[name].build()
    assert architecture_difference(architecture(first), architecture(second)) == ""
    torch.save(first.state_dict(), tmp_path / "weights.pt")
    fit_state(unwrapped(second), load_state(tmp_path / "weights.pt"), name)
    states = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    assert all(torch.equal(reals_in(a), reals_in(b)) for a, b in states)


@pytest.mark.slow
@pytest.mark.parametrize(("library", "name"), LIBRARY_NETS)
def test_networks_of_libraries_are_cut_rightly_and_retrained(library, name):
    pytest.importorskip(
        library, reason=f"{library} is not installed; `make zoo` installs it"
    )
    nets = getattr(
        importlib.import_module(f"tests.laws.zoo.{library}_nets"), library.upper()
    )
    *cuts, retraining = examine_all(nets[name], number=3)
    assert [cut for cut in cuts if cut.broken or cut.way != CACHED] == []
    assert (retraining.way, retraining.broken) == (RETRAINED, ())


SLOW = pytest.param(range(3, 12), marks=pytest.mark.slow)
SOAK = pytest.param(range(12, 60), marks=[pytest.mark.slow, pytest.mark.soak])


@pytest.mark.parametrize("numbers", [range(3), SLOW, SOAK], ids=str)
def test_random_networks_are_cut_rightly(numbers):
    for net in filter(None, map(random_net, numbers)):
        assert broken(net) == []


class Around(nn.Module):
    """A part of a cut, tampered with."""

    def __init__(self, inner, tamper=lambda value: value):
        super().__init__()
        self.inner = inner
        self.tamper = tamper

    def forward(self, value):
        return self.tamper(self.inner(value))


class NeverTrains(Around):
    def train(self, mode=True):
        return super().train(False)


class Drifting(Around):
    """Gives another value once it has been asked often enough."""

    asked = 0

    def forward(self, value):
        self.asked += 1
        return tree_map(
            lambda tensor: tensor + (self.asked > 2), super().forward(value)
        )


def scaled(value):
    return value * 1.001


def mixed(value):
    return tree_map(lambda tensor: tensor + tensor.mean(0), value)


def frozen(cut, more, less):
    return replace(cut, frozen=tuple((set(cut.frozen) | more) - less))


TAMPERED = [
    ("identity", lambda cut: replace(cut, tail=Around(cut.tail, scaled))),
    ("gradients", lambda cut: replace(cut, tail=Around(cut.tail, scaled))),
    ("rows", lambda cut: replace(cut, prefix=Around(cut.prefix, mixed))),
    ("train", lambda cut: replace(cut, tail=NeverTrains(cut.tail))),
    ("live", lambda cut: replace(cut, tail=NeverTrains(cut.tail))),
    ("unchanged", lambda cut: replace(cut, prefix=Drifting(cut.prefix))),
    ("frozen", lambda cut: frozen(cut, set(), {"a.weight"})),
    ("frozen", lambda cut: frozen(cut, set(), {"norm.running_var"})),
    ("frozen", lambda cut: frozen(cut, {"c.bias"}, set())),
    ("fresh", lambda cut: replace(cut, _kept=frozenset())),
    ("fresh", lambda cut: replace(cut, _kept=cut._kept | {"model.c.bias"})),
    ("gradients", lambda cut: frozen(cut, {"c.bias"}, set())),
    ("gradients", lambda cut: frozen(cut, set(), {"a.bias"})),
    ("gradients", lambda cut: replace(cut, trainable=False)),
    (
        "built",
        lambda cut: replace(cut, fresh_values=dict(list(cut.fresh_values.items())[1:])),
    ),
]


@pytest.fixture(scope="module")
def right():
    net = replace(HOSTILE["dropout_on_both_sides"], live=True)
    model, sample, x = net.made()
    return case_of(net, model, "norm", split(model, "norm", sample), x)


@pytest.mark.parametrize(("law", "tamper"), TAMPERED)
def test_a_wrong_cut_breaks_the_law(law, tamper, right):
    """The negative control: each law can fail, and holds for what was not tampered with."""
    same = copy.deepcopy(right.cut)
    wrong = tamper(copy.deepcopy(right.cut))
    LAWS[law](replace(right, cut=same))
    with pytest.raises(AssertionError):
        LAWS[law](case_of(right.net, right.model, "norm", wrong, right.x))
