"""Networks of timm and transformers, ten of each; `make zoo` has all, and more features of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from probe.cut.cuts import split
from tests.laws.others.examine import examine_other, explained
from tests.laws.others.laws import assert_distributed, built
from tests.laws.zoo.case import case_of
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.net import Net, seed

TIMM = (
    *("beit_base_patch16_224", "test_vit3", "swinv2_cr_tiny_224", "test_efficientnet"),
    *("convformer", "resmlp", "pit", "nest", "test_nfnet", "densenet121"),
)
TRANSFORMERS = (
    *("bert", "deberta_v2", "funnel", "gptj", "mistral", "opt"),
    *("whisper", "swin", "dinov2", "poolformer"),
)
FEATURES = 3


def broken(name: str, net: Net) -> list[str]:
    return explained(name, examine_other(net, number=FEATURES))


@pytest.mark.slow
@pytest.mark.parametrize("name", TIMM)
def test_networks_of_timm_are_cut_rightly_and_their_values_kept(name: str) -> None:
    pytest.importorskip("timm", reason="timm is not installed; `make zoo` installs it")
    from tests.laws.others import timm_nets

    assert broken(name, timm_nets.TIMM[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_networks_of_transformers_are_cut_rightly_and_their_values_kept(name: str) -> None:
    reason = "transformers is not installed; `make zoo` installs it"
    pytest.importorskip("transformers", reason=reason)
    from tests.laws.others import transformers_nets

    assert broken(name, transformers_nets.TRANSFORMERS[name]) == []


def test_fresh_weights_that_are_not_as_built_break_the_law() -> None:
    """The negative control: what stays, or comes from elsewhere, is found."""
    net = HOSTILE["dropout_on_both_sides"]
    model, sample, x = net.made()
    built(case_of(net, model, "norm", split(model, "norm", sample), x))
    cut = split(model, "norm", sample)
    less = dict(list(cut.fresh_values.items())[1:])
    with pytest.raises(AssertionError, match="the trained one"):
        built(case_of(net, model, "norm", replace(cut, fresh_values=less), x))


@pytest.mark.parametrize("wrong", ["wider", "shifted", "constant"])
def test_values_of_another_distribution_are_found(wrong: str) -> None:
    with seed(0):
        builds = [torch.randn(20, 30) for _ in range(4)]
    fresh = builds.pop()
    assert_distributed("weight", fresh, builds)
    found = {"wider": fresh * 1.5, "shifted": fresh + 0.4, "constant": fresh * 0 + fresh.mean()}
    with pytest.raises(AssertionError):
        assert_distributed("weight", found[wrong], builds)
