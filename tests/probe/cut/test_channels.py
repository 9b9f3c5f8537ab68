"""The axis of channels is told by the modules that made a value, never by its shape."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe.cut.channels import channels_of
from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall
from tests.laws.zoo.written import Written

LINE, IMAGE, BLOCK = (8, 12), (8, 6, 6), (8, 4, 4, 4)

CASES = [
    ("first", LINE, nn.Conv1d(8, 9, 3)),
    ("first", IMAGE, nn.ConvTranspose2d(8, 9, 3)),
    ("first", BLOCK, nn.BatchNorm3d(8)),
    ("first", LINE, nn.InstanceNorm1d(8)),
    ("first", LINE, nn.GroupNorm(2, 8)),
    ("first", LINE, nn.MaxPool1d(2)),
    ("first", BLOCK, nn.AvgPool3d(2)),
    ("first", IMAGE, nn.AdaptiveMaxPool2d(2)),
    ("first", LINE, nn.AdaptiveAvgPool1d(3)),
    ("first", LINE, nn.LPPool1d(2, 2)),
    ("first", LINE, nn.Sequential(nn.Conv1d(8, 12, 3), nn.Dropout1d(), nn.Hardswish(True))),
    ("first", LINE, nn.Sequential(nn.Conv1d(8, 8, 1), nn.LayerNorm((8, 12)), nn.Identity())),
    ("last", LINE, nn.Linear(12, 8)),
    ("last", LINE, nn.LayerNorm(12)),
    ("last", LINE, nn.RMSNorm(12)),
    ("last", LINE, nn.LSTM(12, 7, batch_first=True)),
    ("last", LINE, nn.GRU(12, 7)),
    ("last", LINE, nn.TransformerEncoderLayer(12, 2, batch_first=True, norm_first=True)),
    ("last", LINE, nn.Sequential(nn.Linear(12, 12), nn.GELU(), nn.Dropout())),
    (None, LINE, nn.Identity()),
    (None, LINE, nn.LayerNorm((8, 12))),
    (None, LINE, nn.Sequential(nn.Conv1d(8, 9, 3), nn.Flatten(), nn.Unflatten(1, (9, 10)))),
]


def of_inner(forward: Any, x: Tensor, **modules: Any) -> str | None:
    """Return the axis of the channels of what the module `inner` gives."""
    model = Written(forward, modules)
    [found] = find_each(model, ["inner"], x, ModelCall())
    return channels_of(found.trace, found.visit.names[0])


@pytest.mark.parametrize(("axis", "shape", "module"), CASES, ids=lambda each: str(each)[:40])
def test_the_module_tells(axis, shape, module):
    def forward(m: Any, x: Tensor) -> Tensor:
        y = m.inner(x)
        return m.head((y[0] if isinstance(y, tuple) else y).flatten(1)[:, :8])

    assert of_inner(forward, torch.randn(5, *shape), inner=lambda: module, head=(8, 2)) == axis


@pytest.mark.parametrize("first", [True, False])
def test_attention_tells_wherever_the_examples_lie(first):
    def forward(m: Any, x: Tensor) -> Tensor:
        x = x if first else x.transpose(0, 1)
        y = m.inner(x, x, x)[0]
        return m.head(y.mean(1 if first else 0))

    attention = nn.MultiheadAttention(12, 2, batch_first=first)
    found = of_inner(forward, torch.randn(5, *LINE), inner=lambda: attention, head=(12, 2))
    assert found == "last"


class Turned(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class Sum(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def test_nothing_is_told_behind_a_turn_nor_by_terms_that_disagree():
    def turned(m: Any, x: Tensor) -> Tensor:
        return m.head(m.inner(m.conv(x)).mean(1))

    def added(m: Any, x: Tensor) -> Tensor:
        return m.head(m.inner(m.conv(x), m.other(x)).mean(1))

    x, parts = torch.randn(5, 8, 8), {"conv": lambda: nn.Conv1d(8, 8, 1), "head": (8, 2)}
    assert of_inner(turned, x, inner=Turned, **parts) is None
    assert of_inner(added, x, inner=Sum, other=lambda: nn.Linear(8, 8), **parts) is None
    assert of_inner(added, x, inner=Sum, other=nn.Identity, **parts) == "first"
