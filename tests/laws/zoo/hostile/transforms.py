"""Networks that compute with transforms of torch.func, compiled code, sparse and nested tensors."""

import torch
from torch import nn, tanh

from tests.laws.zoo.net import CACHED, SLOW
from tests.laws.zoo.written import written

_AB = {"a": (CACHED,), "b": (SLOW,)}


@written({"a": (SLOW,), "b": (SLOW,)})
def a_layer_within_vmap(m, x):
    h = torch.func.vmap(lambda row: tanh(m.a(row)))(x)
    h = tanh(m.b(h))
    return m.c(h)


@written(_AB, also={"w": lambda: nn.Parameter(torch.randn(4, 6, 6))})
def an_ensemble_by_vmap(m, x):
    """The members' results lie along another axis than within the transform."""
    each = torch.func.vmap(lambda w: tanh(m.a(x) @ w), out_dims=2)(m.w)
    h = each.sum(2)
    h = tanh(m.b(h))
    return m.c(h)


@written(_AB)
def derivatives(m, x):
    h = m.a(x)
    value, along = torch.func.jvp(torch.tanh, (h,), (torch.ones_like(h),))
    slope = torch.func.grad(lambda t: (t.tanh() ** 2).sum())(h)
    full = torch.func.vmap(torch.func.jacrev(torch.sin))(h).sum(1)
    h = tanh(m.b(value + along + slope + full))
    return m.c(h)


@written(_AB)
def writes_within_vmap(m, x):
    h = m.a(x)
    h = torch.func.vmap(lambda row: row.mul(2).add_(row))(h)
    h = tanh(m.b(h))
    return m.c(h)


@written(_AB)
def jagged_rows(m, x):
    rows = torch.nested.nested_tensor_from_jagged(m.a(x), torch.arange(len(x) + 1))
    h = tanh(m.b(torch.nested.to_padded_tensor(rows.sin(), 0.0)[:, 0]))
    return m.c(h)


@written(_AB)
def sparse_values(m, x):
    h = torch.sparse.mm(m.a(x).relu().to_sparse(), torch.eye(6))
    h = tanh(m.b(h))
    return m.c(h)


@written()
def a_part_in_inference_mode(m, x):
    with torch.inference_mode():
        h = m.a(x)
        h += 1
        h.tanh_()
    h = tanh(m.b(h.clone()))
    return m.c(h)


_double = torch.compile(lambda h: tanh(h) * 2, backend="eager")


@written()
def compiled_code(m, x):
    h = _double(m.a(x))
    h = tanh(m.b(h))
    return m.c(h)


@written()
def a_constant_made_on_the_way(m, x):
    """As in tabnet: a counter of operations must not name what makes it."""
    h = tanh(m.a(x)) * torch.sqrt(torch.FloatTensor([0.5]))
    return m.c(tanh(m.b(h)))
