"""Batches as a network takes them: one tensor, or several by position or by name."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar, cast

import torch
from torch import Tensor
from torch.masked import MaskedTensor

from probe.errors import InputError
from probe.memory import FileRows

Value = Tensor | tuple[Tensor, ...] | Mapping[str, Tensor]
"""The input of a network, or of a part of it, for B examples: one or more tensors (B, ...)."""

Named = dict[str, Tensor]
"""Tensors by the name of a parameter, a buffer or a layer."""

Transform = Callable[[Tensor], Tensor]
"""A function of a tensor."""

AnyValue = TypeVar("AnyValue", bound=Value)

_SEARCHED = 4096  # examples among which those of different lengths are looked for
_FEW = 8  # examples that show whether numbers are those of a mask
_PIECE = 2**24  # bytes of a tensor looked at together


class Rows(Protocol):
    """N rows, one for each example, accessed by index."""

    def __len__(self) -> int: ...

    def __getitem__(self, indices: Tensor, /) -> Value:
        """Return the rows at `indices` (B,), int64 on the data's device, in new memory."""


def gather(rows: Rows | Value, indices: Tensor, on_cpu: Tensor | None = None) -> Value:
    """Return rows by their index, as a copy that may be written into.

    Args:
        rows: N rows, or tensors (N, ...).
        indices: (B,) int64, from 0; copied to the data's device if they are elsewhere.
        on_cpu: The same indices on the CPU, so that rows that are read there wait for
            no device.

    Returns:
        The B rows.

    >>> gather(torch.tensor([[1], [2], [3]]), torch.tensor([2, 0])).tolist()
    [[3], [1]]
    """
    if isinstance(rows, Tensor | tuple | Mapping):
        # `index_select` copies whole rows: 2.4 times as fast as element by element.
        host = indices if on_cpu is None else on_cpu
        return mapped(
            rows,
            lambda x: x.index_select(
                0, host if isinstance(x, FileRows) else indices.to(x.device)
            ),
        )
    return rows[indices]


def tensors(value: Value) -> tuple[Tensor, ...]:
    """Return the tensors of a value, each (B, ...), in order: one, or all of a tuple or mapping."""
    if isinstance(value, Tensor):
        return (value,)
    return tuple(value.values()) if isinstance(value, Mapping) else value


def check_value(value: Any, name: str) -> None:
    """Check that a value is a plain tensor, or a tuple or mapping of tensors of equal length.

    Args:
        value: The value to check.
        name: The name of the value in messages.

    Raises:
        InputError: The value is anything else.
    """
    columns = tensors(value) if isinstance(value, Mapping | tuple) else (value,)
    kinds_in = [
        type(column).__name__ for column in columns if not isinstance(column, Tensor)
    ]
    if kinds_in or not columns:
        got = " with ".join(dict.fromkeys((type(value).__name__, *kinds_in[:1])))
        raise InputError(
            f"{name} must be tensors, got {got}: use torch.as_tensor or Examples.of"
        )
    if any(column.device.type == "meta" for column in columns):
        raise InputError(
            f"{name} is on the device meta and has no values: make it on the CPU"
        )
    if not all(map(is_dense, columns)):
        raise InputError(
            f"{name} must be plain tensors, got a sparse, nested, masked or "
            "quantized one: make it dense"
        )
    if not all(column.ndim for column in columns) or len(set(map(len, columns))) > 1:
        raise InputError(
            f"{name} needs equally many examples in each tensor, got {kinds(value)}"
        )


def is_dense(tensor: Tensor) -> bool:
    """Return whether a tensor has plain numbers: it is not sparse, nested, masked or quantized."""
    strided = tensor.layout == torch.strided and not tensor.is_nested
    return strided and not (tensor.is_quantized or isinstance(tensor, MaskedTensor))


def check_finite(value: Value, name: str) -> None:
    """Check that no number of N examples is NaN or above all others.

    Args:
        value: The examples, each tensor (N, ...).
        name: The name of the examples in messages.

    Raises:
        InputError: A number is NaN or +Inf; the message has the first such example.
    """
    for tensor in filter(Tensor.is_floating_point, tensors(value)):
        if isinstance(tensor, FileRows) and tensor.finite:
            continue
        # Piece by piece: the data may be a file larger than the memory.
        rows = (piece.reshape(len(piece), -1) for piece in pieces(tensor))
        # A mask that is added to logits may hold -inf.
        finite = [(row < torch.inf).all(1) for row in rows]
        if finite and len(odd := (~torch.cat(finite)).nonzero()):
            raise InputError(
                f"{name} has NaN or Inf in example {int(odd[0])}: clean the data first"
            )


def length(value: Value) -> int:
    """Return the number of examples of a value."""
    return len(tensors(value)[0])


def mapped(value: AnyValue, change: Transform) -> AnyValue:
    """Apply a function to every tensor of a value.

    Args:
        value: One or more tensors, each (B, ...).
        change: Function to apply to each of them.

    Returns:
        The new tensors, in the same structure.

    >>> mapped({"ids": torch.ones(2, 3)}, lambda tensor: tensor[:1])["ids"].shape
    torch.Size([1, 3])
    """
    if isinstance(value, Mapping):
        return cast(AnyValue, {key: change(tensor) for key, tensor in value.items()})
    return cast(
        AnyValue,
        change(value) if isinstance(value, Tensor) else tuple(map(change, value)),
    )


def first(value: AnyValue, n: int) -> AnyValue:
    """Return the first examples of a value, without copying them.

    Args:
        value: The value, each tensor (N, ...).
        n: The number of examples.

    Returns:
        The value with tensors (n, ...).
    """
    return mapped(value, lambda tensor: tensor[:n])


def varied(value: AnyValue, n: int) -> AnyValue:
    """Return the first examples of a value; of padded sequences some of different lengths.

    Sequences of equal lengths would not show what a network does with others.

    >>> ids = torch.tensor([[3, 4, 5]] * 9 + [[6, 0, 0]])
    >>> varied(ids, 3)[:, 0].tolist()
    [3, 6, 3]

    Args:
        value: The value, each tensor (N, ...).
        n: The number of examples.

    Returns:
        The value with tensors (n, ...).
    """
    ends = sum(map(_ends, tensors(value)), torch.zeros((), device="cpu"))
    if ends.unique().numel() < 2 or len(ends) < n:
        return first(value, n)
    # In turns from both ends of their order: the first few differ most.
    order = ends.argsort(stable=True)[
        torch.linspace(0, len(ends) - 1, n, device="cpu").long()
    ]
    turns = torch.stack([order, order.flip(0)], 1).flatten()[:n]
    return mapped(value, lambda tensor: tensor.index_select(0, turns.to(tensor.device)))


def _ends(tensor: Tensor) -> Tensor:
    """Return a number for the equal entries at both ends of each sequence of ids or a mask.

    Of a number for each example, such as a length or a task, it is the number.
    """
    if tensor.ndim == 1:
        return tensor[:_SEARCHED].float().cpu()
    # Only what is looked at is read: the data may be a file larger than the memory.
    if tensor.ndim == 3:  # padded with rows of zeros
        tensor = tensor[:_SEARCHED].any(2)
    if tensor.ndim != 2 or (
        tensor.is_floating_point() and tensor[:_FEW].unique().numel() > 2
    ):
        return torch.zeros((), device="cpu")
    tensor = tensor[:_SEARCHED]
    at_start = _n_leading(tensor == tensor[:, :1])
    at_end = _n_leading((tensor == tensor[:, -1:]).flip(1))
    return (at_start * (tensor.shape[1] + 1) + at_end).float()


def _n_leading(is_equal: Tensor) -> Tensor:
    """Return how many entries of each row are true before the first that is not, (N,)."""
    return is_equal.long().cumprod(1).sum(1).cpu()


def flipped(value: AnyValue) -> AnyValue:
    """Return the examples of a value in reverse order."""
    return mapped(value, lambda tensor: tensor.flip(0))


def pieces(tensor: Tensor) -> Iterator[Tensor]:
    """Yield a tensor (N, ...) in views of at most 16 MB, or of one row.

    The tensor may be a file larger than the memory, so it is processed piece by piece.

    >>> [len(piece) for piece in pieces(torch.zeros(3, 2**21))]
    [2, 1]
    """
    rows = max(1, _PIECE // max(1, tensor[:1].nbytes))
    return (tensor[at : at + rows] for at in range(0, len(tensor), rows))


def like(form: AnyValue, parts: Iterable[Tensor]) -> AnyValue:
    """Put tensors into the structure of another value.

    Args:
        form: The value whose structure is used.
        parts: The tensors to put in, as many as `form` has, in the order of
            `tensors(form)`.

    Returns:
        A tensor, a tuple or a mapping, as `form` is.

    >>> like((torch.ones(1), torch.ones(1)), [torch.zeros(2), torch.ones(2)])[1].tolist()
    [1.0, 1.0]
    """
    remaining = iter(parts)
    return mapped(form, lambda _: next(remaining))


def join_alike(values: Iterable[AnyValue]) -> list[AnyValue]:
    """Join the examples of values that have the same types and shapes.

    >>> [x.shape for x in join_alike([torch.zeros(2, 3), torch.zeros(1, 3), torch.zeros(1, 4)])]
    [torch.Size([3, 3]), torch.Size([1, 4])]

    Args:
        values: The values, each tensor (n, ...).

    Returns:
        A value for each form, by its first occurrence.
    """
    by_form: dict[str, list[AnyValue]] = {}
    for value in values:
        by_form.setdefault(kinds(first(value, 0)), []).append(value)
    return [
        like(same[0], map(torch.cat, zip(*map(tensors, same), strict=True)))
        for same in by_form.values()
    ]


def arranged(value: Value, form: Value) -> Value:
    """Reorder the tensors of a value to match another value.

    Args:
        value: The value to reorder.
        form: The value whose order is used.

    Returns:
        The same tensors.

    Raises:
        InputError: The values differ in the number or the names of their tensors.

    >>> x = {"a": torch.ones(1), "b": torch.zeros(1)}
    >>> list(arranged(x, {"b": torch.ones(1), "a": torch.ones(1)}))
    ['b', 'a']
    """
    if (
        isinstance(value, Mapping)
        and isinstance(form, Mapping)
        and value.keys() == form.keys()
    ):
        return {name: value[name] for name in form}
    same = any(
        isinstance(value, kind) and isinstance(form, kind) for kind in (Tensor, tuple)
    )
    if not same or len(tensors(value)) != len(tensors(form)):
        raise InputError(
            f"the model was cut with x of {kinds(form)}, got {kinds(value)}: cut anew"
        )
    return value


def kinds(value: Value) -> str:
    """Return the types and shapes of a value's tensors, for messages.

    >>> kinds({"ids": torch.zeros(2, 3)}), kinds(torch.zeros(2))
    ('{ids: float32 (2, 3)}', 'float32 (2,)')
    """
    texts = [
        f"{str(t.dtype).removeprefix('torch.')} {'nested' if t.is_nested else tuple(t.shape)}"
        for t in tensors(value)
    ]
    if isinstance(value, Mapping):
        return f"{{{', '.join(map(': '.join, zip(value, texts, strict=True)))}}}"
    return f"({', '.join(texts)})" if isinstance(value, tuple) else texts[0]


def identical(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are equal bit for bit; NaN equals NaN.

    Args:
        a: A tensor of any shape.
        b: The tensor to compare with.

    Returns:
        Whether shape and values are the same.

    >>> identical(torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]))
    True
    """
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def close(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are equal up to the rounding of sums in another order.

    Args:
        a: A tensor of any shape.
        b: The tensor to compare with.

    Returns:
        Whether they are close.
    """
    if (
        a.shape != b.shape
        or not a.numel()
        or not (a.is_floating_point() or a.is_complex())
    ):
        return identical(a, b)
    scale = float(a.abs().nan_to_num().max())
    return torch.allclose(a, b, rtol=1e-3, atol=1e-5 + 1e-4 * scale, equal_nan=True)


def tensor_hash(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of named tensors of any shapes: names, types, shapes and every byte.

    Their order and the device that they are on do not matter.

    >>> tensor_hash({"x": torch.zeros(2)}) == tensor_hash({"x": torch.zeros(2, 1)})
    False
    >>> a, b = (torch.eye(2).roll(n, 0).to_sparse() for n in (0, 1))
    >>> tensor_hash({"x": a}) == tensor_hash({"x": b})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu()
        # Without type and shape, tensors of the same bytes would have the same hash.
        digest.update(f"{name!r} {tensor.dtype} {tuple(tensor.shape)};".encode())
        if tensor.layout is not torch.strided:
            nz = tensor.to_sparse_coo().coalesce()
            tensor = torch.cat(
                [p.flatten().view(torch.uint8) for p in (nz.indices(), nz.values())]
            )
        for piece in pieces(tensor) if tensor.ndim else [tensor]:
            digest.update(piece.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
