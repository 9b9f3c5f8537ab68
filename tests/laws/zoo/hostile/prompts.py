"""Networks that choose prompts by their input: L2P and DualPrompt, on four tokens of width 8."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.laws.zoo.net import RIGHT, SAFE
from tests.laws.zoo.written import written

LAYERS = {
    "embed": (8, 8),
    "block": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
    "keys": lambda: nn.Parameter(torch.randn(3, 8)),
    "prompts": lambda: nn.Parameter(torch.randn(3, 2, 8)),
    "general": lambda: nn.Parameter(torch.randn(2, 8)),
    "norm": lambda: nn.LayerNorm(8),
    "c": (8, 3),
}


def nearest_keys(m: Any, x: Tensor, k: int) -> Tensor:
    """Return the numbers (B, k) of the keys nearest to the query, which is not trained."""
    query = F.normalize(x.detach().mean(1), dim=-1)
    return (query @ F.normalize(m.keys, dim=-1).T).topk(k, dim=1).indices


@written({"embed": RIGHT, "block": RIGHT, "norm": RIGHT}, LAYERS, shape=(4, 8))
def l2p(m: Any, x: Tensor) -> Tensor:
    """The prompts of an example's two nearest keys are put before its tokens."""
    prompts = m.prompts[nearest_keys(m, x, 2)].flatten(1, 2)
    tokens = torch.cat([prompts, m.embed(x)], 1)
    return m.c(m.norm(m.block(tokens, tokens, tokens)[0])[:, : prompts.shape[1]].mean(1))


@written(ways=SAFE, layers=LAYERS, shape=(4, 8), features="embed block norm")
def l2p_by_batch(m: Any, x: Tensor) -> Tensor:
    """The two prompts that are nearest most often serve the whole batch."""
    often = nearest_keys(m, x, 2).flatten().bincount(minlength=3).topk(2).indices
    prompts = m.prompts[often].flatten(0, 1).expand(len(x), -1, -1)
    tokens = torch.cat([prompts, m.embed(x)], 1)
    return m.c(m.norm(m.block(tokens, tokens, tokens)[0])[:, : prompts.shape[1]].mean(1))


@written({"embed": RIGHT, "block": RIGHT, "norm": RIGHT}, LAYERS, shape=(4, 8))
def dual_prompt(m: Any, x: Tensor) -> Tensor:
    """A general prompt and the one of the nearest key are put before keys and values."""
    h = m.embed(x)
    chosen = m.prompts[nearest_keys(m, x, 1)[:, 0]]
    prefix = torch.cat([m.general.expand(len(x), -1, -1), chosen], 1)
    keys = torch.cat([prefix, h], 1)
    return m.c(m.norm(h + m.block(h, keys, keys)[0]).mean(1))
