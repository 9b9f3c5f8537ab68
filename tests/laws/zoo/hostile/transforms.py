"""Networks that compute with transforms of torch.func, compiled code, sparse and nested tensors."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.laws.zoo.net import CACHED, SLOW
from tests.laws.zoo.written import written

_AB = {"a": (CACHED,), "b": (SLOW,)}


@written({"a": (SLOW,), "b": (SLOW,)})
def a_layer_within_vmap(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(torch.func.vmap(lambda row: torch.tanh(m.a(row)))(x))))


@written(_AB, also={"w": lambda: nn.Parameter(torch.randn(4, 6, 6))})
def an_ensemble_by_vmap(m: Any, x: Tensor) -> Tensor:
    """The members' results lie along another axis than within the transform."""
    each = torch.func.vmap(lambda w: torch.tanh(m.a(x) @ w), out_dims=2)(m.w)
    return m.c(torch.tanh(m.b(each.sum(2))))


@written(_AB)
def derivatives(m: Any, x: Tensor) -> Tensor:
    h = m.a(x)
    value, along = torch.func.jvp(torch.tanh, (h,), (torch.ones_like(h),))
    slope = torch.func.grad(lambda t: (t.tanh() ** 2).sum())(h)
    full = torch.func.vmap(torch.func.jacrev(torch.sin))(h).sum(1)
    return m.c(torch.tanh(m.b(value + along + slope + full)))


@written(_AB)
def writes_within_vmap(m: Any, x: Tensor) -> Tensor:
    h = m.a(x)
    return m.c(torch.tanh(m.b(torch.func.vmap(lambda row: row.mul(2).add_(row))(h))))


@written(_AB)
def jagged_rows(m: Any, x: Tensor) -> Tensor:
    rows = torch.nested.nested_tensor_from_jagged(m.a(x), torch.arange(len(x) + 1))
    return m.c(torch.tanh(m.b(torch.nested.to_padded_tensor(rows.sin(), 0.0)[:, 0])))


@written(_AB)
def sparse_values(m: Any, x: Tensor) -> Tensor:
    return m.c(
        torch.tanh(m.b(torch.sparse.mm(m.a(x).relu().to_sparse(), torch.eye(6))))
    )


@written()
def a_part_in_inference_mode(m: Any, x: Tensor) -> Tensor:
    with torch.inference_mode():
        h = m.a(x)
        h += 1
        h.tanh_()
    return m.c(torch.tanh(m.b(h.clone())))


_double = torch.compile(lambda h: torch.tanh(h) * 2, backend="eager")


@written()
def compiled_code(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(_double(m.a(x)))))


@written()
def a_constant_made_on_the_way(m: Any, x: Tensor) -> Tensor:
    """As in tabnet: a counter of operations must not name what makes it."""
    h = torch.tanh(m.a(x)) * torch.sqrt(torch.FloatTensor([0.5]))
    return m.c(torch.tanh(m.b(h)))
