"""Networks that choose prompts by their input: L2P and DualPrompt, on four tokens of width 8."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.laws.zoo.net import RIGHT, SAFE
from tests.laws.zoo.written import written

FEATURES = ("embed", "block", "norm")
LAYERS = {
    **{"embed": (8, 8), "block": lambda: nn.MultiheadAttention(8, 2, batch_first=True)},
    **{
        "keys": lambda: nn.Parameter(torch.randn(3, 8)),
        "norm": lambda: nn.LayerNorm(8),
    },
    **{"prompts": lambda: nn.Parameter(torch.randn(3, 2, 8)), "c": (8, 3)},
}


def nearest_keys(m: Any, x: Tensor, k: int) -> Tensor:
    query = F.normalize(x.detach().mean(1), dim=-1)
    return (query @ F.normalize(m.keys, dim=-1).T).topk(k, dim=1).indices


def answered(m: Any, x: Tensor, prompts: Tensor) -> Tensor:
    tokens = torch.cat([prompts, m.embed(x)], 1)
    return m.c(
        m.norm(m.block(tokens, tokens, tokens)[0])[:, : prompts.shape[1]].mean(1)
    )


@written(dict.fromkeys(FEATURES, RIGHT), LAYERS, shape=(4, 8))
def l2p(m: Any, x: Tensor) -> Tensor:
    return answered(m, x, m.prompts[nearest_keys(m, x, 2)].flatten(1, 2))


@written(
    dict.fromkeys(FEATURES, SAFE), LAYERS, shape=(4, 8), shows_not=frozenset({"keys"})
)
def l2p_by_batch(m: Any, x: Tensor) -> Tensor:
    often = nearest_keys(m, x, 2).flatten().bincount(minlength=3).topk(2).indices
    return answered(m, x, m.prompts[often].flatten(0, 1).expand(len(x), -1, -1))


@written(dict.fromkeys(FEATURES, RIGHT), LAYERS, shape=(4, 8))
def dual_prompt(m: Any, x: Tensor) -> Tensor:
    """A general prompt and that of the nearest key are put before keys and values."""
    h = m.embed(x)
    chosen = m.prompts[nearest_keys(m, x, 1)[:, 0]]
    keys = torch.cat([m.prompts[:1, 0].expand(len(x), 1, -1), chosen, h], 1)
    return m.c(m.norm(h + m.block(h, keys, keys)[0]).mean(1))
