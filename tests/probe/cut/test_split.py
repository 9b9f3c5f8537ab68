"""A cut at a feature: what is frozen, what is trained, and what is left as it was.

That tail(prefix(x)) is model(x) and that no training moves the feature: see tests/laws/test_zoo.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from probe.cut.cuts import split
from probe.errors import InputError
from probe.seeding import stream
from tests.laws.zoo.hostile import HOSTILE


def inputs(n: int = 8) -> Tensor:
    return torch.randn(n, 6, generator=stream(0, "split"))


@pytest.mark.parametrize(
    ("build", "feature", "says"),
    [
        (HOSTILE["called_twice"].build, "layer", "name the call, layer#1 to layer#2"),
        (HOSTILE["called_twice"].build, "layer#3", "unknown call of 'layer' '3'"),
        (HOSTILE["called_twice"].build, "laier", "did you mean 'layer'"),
        (lambda: nn.Sequential(nn.Linear(6, 3), nn.LSTM(3, 3)), "0", "returns tuple"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(
    build: Callable[[], nn.Module], feature: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        split(build(), feature, inputs(4))
