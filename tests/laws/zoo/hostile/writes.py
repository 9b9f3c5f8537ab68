"""Networks that write in place, into views and into what a skip carries across the cut."""

import torch
from torch import nn, relu, tanh
from torch.nn import functional as F

from tests.laws.zoo.written import written


@written(
    "a",
    also={
        "w": lambda: nn.Parameter(torch.randn(6, 6)),
        "v": lambda: nn.Parameter(torch.rand(6)),
    },
)
def functional_ops(m, x):
    h = torch.einsum("bi,ij->bj", F.gelu(m.a(x)), m.w) @ m.w.T
    clamped = torch.where(h > 0, h, -h).clamp(max=3)
    return m.c(clamped * m.v + F.normalize(h, dim=-1))


@written("a act b", also={"act": lambda: nn.ReLU(inplace=True)})
def relu_module_in_place(m, x):
    h = m.b(m.act(m.a(x)))
    return m.c(h)


@written()
def writes_onto_the_feature(m, x):
    h = m.a(x)
    more = m.b(x)
    h[:, :3] += 1
    h[:, 2:4] = more[:, :2]
    h.add_(more)
    h += x
    return m.c(h)


@written()
def writes_into_the_input(m, x):
    x[:, :3] += 1
    h = tanh(m.b(m.a(x))) + x
    return m.c(h)


@written()
def writes_to_the_base_of_a_view(m, x):
    h = m.a(x).clone()
    view = h.view(-1, 2, 3).transpose(1, 2)
    h.mul_(2)
    seen = view.flatten(1)
    h.add_(m.b(x))
    return m.c(view.flatten(1) + seen)


@written("a b mark")
def fills_a_buffer(m, x):
    both = x.new_zeros(len(x), 6)
    both[:, :3] = m.a(x)[:, :3]
    both.view(-1, 2, 3)[:, 1].copy_(m.b(x)[:, 3:])
    return m.c(m.mark(both))


@written()
def writes_into_constants(m, x):
    h = m.a(x)
    which = torch.zeros(len(x), 6).scatter_(
        1,
        h.argmax(1, keepdim=True),
        1.0,
    )
    which[:, 3:] += h[:, 3:]
    which[:, 0] = 2
    h = m.b(h) + which * h
    return m.c(h)


@written(
    "stem side side.0 middle",
    {
        "stem": (6, 5),
        "side": lambda: nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5)),
        "middle": (5, 5),
        "head": (5, 3),
    },
)
def a_branch_beside_and_a_skip_across(m, x):
    stem = relu(m.stem(x))
    side = m.side(x)
    h = relu(m.middle(stem)) + side + stem
    return m.head(h)
