"""Networks that choose prompts by their input: L2P and DualPrompt, on four tokens of width 8."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.laws.zoo.net import RIGHT, SAFE
from tests.laws.zoo.written import written

FEATURES = "embed block norm"
LAYERS = {
    "embed": (8, 8),
    "block": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
    "keys": lambda: nn.Parameter(torch.randn(3, 8)),
    "norm": lambda: nn.LayerNorm(8),
    "prompts": lambda: nn.Parameter(torch.randn(3, 2, 8)),
    "c": (8, 3),
}


def nearest_keys(m, x, k):
    query = F.normalize(x.detach().mean(1), dim=-1)
    similarity = query @ F.normalize(m.keys, dim=-1).T
    return similarity.topk(k, dim=1).indices


def answered(m, x, prompts):
    tokens = torch.cat([prompts, m.embed(x)], 1)
    h, _ = m.block(tokens, tokens, tokens)
    h = m.norm(h)[:, : prompts.shape[1]]
    return m.c(h.mean(1))


@written(FEATURES, LAYERS, shape=(4, 8), ways=RIGHT)
def l2p(m, x):
    prompts = m.prompts[nearest_keys(m, x, 2)]
    return answered(m, x, prompts.flatten(1, 2))


@written(
    FEATURES,
    LAYERS,
    shape=(4, 8),
    ways=SAFE,
    shows_not=frozenset({"keys"}),
)
def l2p_by_batch(m, x):
    counts = nearest_keys(m, x, 2).flatten().bincount(minlength=3)
    prompts = m.prompts[counts.topk(2).indices]
    return answered(
        m,
        x,
        prompts.flatten(0, 1).expand(len(x), -1, -1),
    )


@written(FEATURES, LAYERS, shape=(4, 8), ways=RIGHT)
def dual_prompt(m, x):
    """A general prompt and that of the nearest key are put before keys and values."""
    h = m.embed(x)
    chosen = m.prompts[nearest_keys(m, x, 1)[:, 0]]
    general = m.prompts[:1, 0].expand(len(x), 1, -1)
    keys = torch.cat([general, chosen, h], 1)
    attended, _ = m.block(h, keys, keys)
    h = m.norm(h + attended).mean(1)
    return m.c(h)
