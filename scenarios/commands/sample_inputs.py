"""Random inputs of the shapes that `probe layers --input` gives: one, or several, with names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Generator, Tensor

from probe.batch import Value
from probe.errors import InputError
from probe.seeding import stream

_EXAMPLES = 3
_LARGEST = 2**28  # values of the examples: 1 GiB
_SHAPE = r"[1-9]\d{0,9}(x[1-9]\d{0,9})*"


@dataclass(frozen=True, kw_only=True)
class _Input:
    """One --input: its name, empty if it has none, its sizes with the batch's, and its kind."""

    name: str
    sizes: tuple[int, ...]
    integers: bool

    def drawn(self, own: Generator) -> Tensor:
        if self.integers:
            return torch.randint(2, self.sizes, generator=own)
        return torch.randn(self.sizes, generator=own)


def sample_inputs(texts: Sequence[str], integers: bool) -> Value:
    """Return a batch of three: one tensor, a tuple of several, or a mapping of those with names.

    texts: [NAME=]SHAPE[:int], as 3x32x32 or mask=16:int; integers: whether all are whole numbers.
    Values are normal, or the numbers 0 and 1, which any table holds; they are the same every time.
    Raises InputError for a text that is no such thing, names that some lack or two share, and for
    inputs that would not fit into memory.
    """
    given = [_read(text, integers) for text in texts]
    names = [one.name for one in given]
    if any(names) and not all(names):
        raise InputError(
            f"--input is given with a name ({next(filter(None, names))}) and without one: name all "
            f"inputs, or none"
        )
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise InputError(f"--input names {twice!r} twice: give each input a name of its own")
    if sum(prod(one.sizes) for one in given) > _LARGEST:
        raise InputError(
            f"--input expects a shape of at most {_LARGEST // _EXAMPLES:,} values, got "
            f"{', '.join(map(repr, texts))}"
        )
    own = stream(0, "sample")
    drawn = [one.drawn(own) for one in given]
    if any(names):
        return dict(zip(names, drawn, strict=True))
    return tuple(drawn) if len(drawn) > 1 else drawn[0]


def _read(text: str, integers: bool) -> _Input:
    name, named, rest = text.rpartition("=")
    shape, marked, kind = rest.partition(":")
    if (named and not name.isidentifier()) or (marked and kind != "int"):
        raise InputError(
            f"--input expects a shape as 3x32x32, NAME=16 or NAME=16:int, got {text!r}"
        )
    if not re.fullmatch(_SHAPE, shape):
        raise InputError(f"--input expects the shape of one input as 3x32x32, got {text!r}")
    sizes = (_EXAMPLES, *map(int, shape.split("x")))
    return _Input(name=name, sizes=sizes, integers=integers or bool(marked))
