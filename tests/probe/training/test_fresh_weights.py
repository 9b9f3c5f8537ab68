"""Initialization writes every parameter that is not kept, and no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.seeding import stream
from probe.training.fresh_weights import initialize


class ResetsItsChildren(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.own = nn.Linear(6, 6), nn.Parameter(torch.ones(6))

    def reset_parameters(self) -> None:
        self.inner.reset_parameters()
        nn.init.ones_(self.own)


def test_a_parent_s_reset_does_not_reach_what_is_kept() -> None:
    model = ResetsItsChildren()
    before = model.inner.weight.detach().clone()
    initialize(model, "torch", stream(0), keep=["inner.weight"])
    assert torch.equal(model.inner.weight, before)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("rule", ["murata", "torch"])
@pytest.mark.parametrize(
    "wrap", [nn.utils.weight_norm, nn.utils.spectral_norm, nn.utils.parametrizations.weight_norm]
)
def test_a_parameter_that_no_rule_writes_is_refused(
    wrap: Callable[[nn.Module], nn.Module], rule: str
) -> None:
    model = nn.Sequential(nn.Linear(6, 3), wrap(nn.Linear(3, 3)))
    model(torch.zeros(2, 6))  # spectral norm computes its weight anew, no view of a parameter
    with pytest.raises(InputError, match="no rule re-initializes"):
        initialize(model, rule, stream(0))  # type: ignore[arg-type]
