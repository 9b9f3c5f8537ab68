"""Networks whose forward pass is awkward: calls twice, branches, mixes rows, draws, remembers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.zoo_cuts.nasty_writes import ABC
from tests.zoo_cuts.net import CACHED, REFUSED, RIGHT, SAFE, Net
from tests.zoo_cuts.written import collected, written


@written(
    (6,),
    "layer#1 layer#2",
    {"layer": (6, 6), "head": (6, 3)},
    refuses={"layer": r"layer#\d", "layer#3": "layer", "layer#0": "layer"},
)
def called_twice(m: Any, x: Tensor) -> Tensor:
    return m.head(m.layer(torch.relu(m.layer(x))))


@written(
    (6,),
    "block#1 block#3 block.0#2 block.1#1 head",
    {"block": lambda: nn.Sequential(nn.Linear(6, 6), nn.Tanh()), "head": (6, 3)},
    refuses={"block.1": r"block\.1#\d"},
)
def recurrent_block(m: Any, x: Tensor) -> Tensor:
    h = x
    for _ in range(3):
        h = m.block(h) + x
    return m.head(h)


@written((6,), "encode decode", {"encode": lambda: nn.Linear(6, 4, bias=False), "decode": (6, 3)})
def tied_weights(m: Any, x: Tensor) -> Tensor:
    return m.decode(F.linear(torch.tanh(m.encode(x)), m.encode.weight.t()))


@written((6,), "a b", ABC)
def a_weight_used_as_data(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(torch.tanh(m.a(x)))) * m.a.weight.norm() + m.a.bias)


@written((6,), "a b spare", {**ABC, "spare": (6, 2)})
def a_feature_off_the_path(m: Any, x: Tensor) -> Tensor:
    h = torch.tanh(m.a(x))
    m.spare(h)
    return m.c(torch.tanh(m.b(h)))


@written((6,), "a b", {**ABC, "unused": (6, 6)}, refuses={"unused": "not run|does not"})
def branches_on_shapes(m: Any, x: Tensor) -> Tensor:
    h = m.a(x) if x.shape[-1] > 4 else m.unused(x)
    if h.ndim == 2 and h.size(1) % 2 == 0:
        h = torch.relu(m.b(h))
    return m.c(h)


@written(
    (6,),
    {"a": RIGHT, "b": RIGHT, "mark": RIGHT},
    {**ABC, "mark": nn.Identity},
    refuses={"c": r"c#\d"},
)
def works_in_chunks(m: Any, x: Tensor) -> Tensor:
    """The number of operations depends on the size of the batch."""
    h = m.b(torch.cat([part.tanh() for part in m.a(x).split(3)]))
    return torch.cat([m.c(part) for part in m.mark(h).split(2)])


@written((6,), {"mark": RIGHT}, {**ABC, "mark": nn.Identity}, refuses={"a": r"a#\d"})
def works_row_by_row(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(m.mark(torch.stack([m.a(row) for row in x])))))


@written((6,), "a b", {**ABC, "d": (6, 6)})
def drops_a_layer_behind(m: Any, x: Tensor) -> Tensor:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    if not m.training or torch.rand(()) < 0.5:
        h = h + m.d(h)
    return m.c(h)


@written(
    (6,),
    {"mark": (CACHED, REFUSED)},
    {**ABC, "d": (6, 6), "mark": nn.Identity},
    both_sides=True,
    live=False,
)
def drops_a_layer_before(m: Any, x: Tensor) -> Tensor:
    h = torch.tanh(m.a(x))
    if not m.training or torch.rand(()) < 0.5:
        h = h + m.d(h)
    return m.c(torch.tanh(m.b(m.mark(h))))


@written((6,), dict.fromkeys(("a", "b"), SAFE), ABC)
def branches_on_the_data(m: Any, x: Tensor) -> Tensor:
    """What the whole batch goes through depends on all of it."""
    h = m.a(x)
    return m.c(torch.tanh(m.b(h if x.mean() > 0 else -h)))


@written((6,), dict.fromkeys(("a", "b", "mark"), SAFE), {**ABC, "mark": nn.Identity})
def mixes_rows(m: Any, x: Tensor) -> Tensor:
    h = x - x.mean(0)
    return m.c(torch.tanh(m.b(m.mark(m.a(h)))))


@written((6,), {"a": (CACHED,), "b": SAFE}, ABC)
def mixes_rows_behind(m: Any, x: Tensor) -> Tensor:
    h = torch.tanh(m.a(x))
    return m.c(torch.tanh(m.b((h @ h.T).softmax(-1) @ h)))


@written((6,), dict.fromkeys(("a", "b"), SAFE), ABC)
def divides_by_the_batch_size(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(m.a(x) / len(x))))


@written((6,), {}, ABC, refuses={"a": ".", "b": "."})
def noise_before(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(m.a(x + 0.1 * torch.randn_like(x)))))


@written((6,), dict.fromkeys(("a", "b"), SAFE), ABC)
def noise_behind(m: Any, x: Tensor) -> Tensor:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return m.c(F.dropout(h, 0.5, training=True))


@written((6,), "a b", {**ABC, "count": lambda: torch.zeros(()), "mean": lambda: torch.zeros(6)})
def buffers_written_behind(m: Any, x: Tensor) -> Tensor:
    h = m.b(torch.tanh(m.a(x)))
    if m.training:
        m.count += 1
        m.mean.lerp_(h.detach().mean(0), 0.1)
    return m.c(torch.tanh(h - m.mean))


@written(
    (6,),
    dict.fromkeys(("a", "b"), (CACHED, REFUSED)),
    {**ABC, "mean": lambda: torch.zeros(6)},
    both_sides=True,
    live=False,
)
def buffers_written_before(m: Any, x: Tensor) -> Tensor:
    h = m.c(torch.tanh(m.b(torch.tanh(m.a(x - m.mean)))))
    if m.training:
        m.mean.lerp_(x.mean(0), 0.1)
    return h


@written((6,), "a b", {**ABC, "mean": lambda: torch.zeros(6)})
def a_buffer_replaced(m: Any, x: Tensor) -> Tensor:
    h = m.b(torch.tanh(m.a(x)))
    if m.training:
        m.mean = 0.9 * m.mean + 0.1 * h.detach().mean(0)
    return m.c(torch.tanh(h - m.mean))


@written((6,), "a b", ABC)
def gradients_cut_off(m: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        h = torch.tanh(m.a(x))
    h = torch.tanh(m.b(h))
    return m.c(h + h.detach())


@written((6,), "a b", ABC)
def checkpointed(m: Any, x: Tensor) -> Tensor:
    h = checkpoint(lambda t: torch.tanh(m.a(t)), x, use_reentrant=False)
    return m.c(checkpoint(lambda t: torch.tanh(m.b(t)), h, use_reentrant=False))


@written((6,), "a b", ABC)
def many_outputs(m: Any, x: Tensor) -> Tensor:
    h = m.a(x)
    top, where = h.topk(3, dim=1)
    largest = h.max(dim=1)
    parts = [part[:, None] for part in h.unbind(1)]
    h = torch.cat([*parts[:3], top], 1).gather(1, where.repeat(1, 2)) + largest.values[:, None]
    return m.c(torch.tanh(m.b(h)) * torch.fft.rfft(h).abs().mean(1, keepdim=True))


@written((6,), "a b", ABC)
def attributes_and_casts(m: Any, x: Tensor) -> Tensor:
    h = m.a(x)
    n, d = h.shape
    ones = torch.ones_like(h) + torch.zeros(n, d, dtype=h.dtype, device=h.device)
    h = (h.T.mT.double().to(h).type(torch.float32) * ones).reshape(len(h), -1)[..., None]
    assert isinstance(h, Tensor)
    assert h.is_contiguous()
    return m.c(m.b(h.squeeze(-1)).contiguous().view(n, d))


class Pair(nn.Module):
    """Gives a tuple, and takes its input by keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.q = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, *, x: Tensor, scale: float) -> tuple[Tensor, dict[str, Tensor]]:
        return self.p(x) * scale, {"q": self.q(x), "scale": torch.tensor(scale)}


@written((6,), "pair pair.p b", {**ABC, "pair": Pair})
def a_feature_of_several_tensors(m: Any, x: Tensor) -> Tensor:
    p, more = m.pair(x=x, scale=2.0)
    return m.c(torch.tanh(m.b(p * more["q"])))


def _plus_one(module: nn.Module, inputs: object, output: Tensor) -> Tensor:
    return output + 1


def _hooked() -> nn.Module:
    layer = nn.Linear(6, 6)
    layer.register_forward_hook(_plus_one)
    return layer


@written((6,), "a b", {**ABC, "b": _hooked})
def hooks_of_its_own(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(torch.tanh(m.a(x)))))


FLOW: dict[str, Net] = collected(dict(globals()))
