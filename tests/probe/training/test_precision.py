"""What the precision of a recipe changes, what it leaves alone, and that fp32 repeats its bits."""

from __future__ import annotations

import torch
from torch import nn

from probe.examples import Examples
from probe.modules import mode
from tests.laws.counting import evaluate


def test_evaluation_is_in_fp32() -> None:
    """bf16 cannot tell 1 from 1.001, so that the first of two such logits would win."""
    x = torch.tensor([[1.0, 1.001]] * 4)
    model = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    data = Examples(x, torch.ones(4).long())
    for outside in (False, True):
        with mode(model, training=False), torch.autocast("cpu", enabled=outside):
            assert evaluate(model, data, 2).accuracy() == 1
    assert int(model(x).bfloat16().argmax(1)[0]) == 0
