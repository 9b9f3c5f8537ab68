"""Plain attributes of modules: what changes an output outside parameters and buffers.

A mask, a gain, a task number or the name of the active adapter is an attribute of a
module. Those that differ between two networks are put back with the weights.
"""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import partial
from types import FunctionType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from probe.files import sha256
from probe.modules import named_state, tensors_in

_SCALARS = (
    int,
    float,
    complex,
    str,
    bytes,
    slice,
    range,
    Enum,
    torch.dtype,
    torch.device,
    np.generic,
    type(None),
)
_DEPTH = 4  # of objects within objects that are compared: a value may hold itself
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
# Without what torch sets: the mode, which the caller chooses, and torch's dictionaries.
_TORCH = vars(nn.Module()).keys() - set(_HOOKS)


class Attribute(NamedTuple):
    """An attribute of a module.

    Attributes:
        module: Dotted name of the module, empty for the network itself.
        name: Name of the attribute.
    """

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}".lstrip(".")


class _Absent:
    """The value of an attribute that a module lacks."""


ABSENT = _Absent()
"""The value of an attribute that a module lacks."""

Values = Mapping[Attribute, object]
"""The values of attributes; those that are absent are `ABSENT`."""


def attributes_of(model: nn.Module) -> dict[Attribute, object]:
    """Return the attributes of all modules, with hooks, without those that torch itself sets.

    Values made of the model's parameters and buffers, as a recurrent module's flat
    weights, are left out: they change with these.

    >>> net = nn.ReLU()
    >>> net.gain = 2.0
    >>> {str(key): value for key, value in attributes_of(net).items()}
    {'inplace': False, 'gain': 2.0}
    """
    values: dict[Attribute, object] = {}
    state = {id(tensor) for tensor in named_state(model).values()}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name in _HOOKS:
                # Their keys count all hooks of the process.
                value = list(value.values())
            tensors = tensors_in(value)
            is_state = bool(tensors) and all(id(tensor) in state for tensor in tensors)
            if name not in _TORCH and not is_state and (name not in _HOOKS or value):
                values[Attribute(path, name)] = value
    return values


def is_plain(value: object) -> bool:
    """Return whether a value is a number, text, tensor or array, or made of such."""
    if isinstance(value, Tensor):
        return not (value.is_nested or value.is_meta)
    if isinstance(value, (*_SCALARS, np.ndarray)):
        return True
    if isinstance(value, Mapping):
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and all(
        map(is_plain, value)
    )


def compare_attributes(before: nn.Module, now: nn.Module) -> tuple[Values, list[str]]:
    """Compare the attributes of two networks.

    Args:
        before: The earlier network.
        now: The last network.

    Returns:
        The earlier values of the plain attributes that differ, which can be put back;
        and the names of others that differ, such as replaced methods, hooks and
        objects.
    """
    earlier = attributes_of(before)
    later = attributes_of(now)
    plain: dict[Attribute, object] = {}
    others: list[str] = []
    same = []
    modules = dict(before.named_modules())
    for path, module in now.named_modules():
        # A module that was added since, as a new head, has no earlier values.
        if path not in modules:
            continue
        if type(modules[path]).__qualname__ == type(module).__qualname__:
            same.append(path)
        else:
            others.append(f"the class of {path or 'the network'}")
    for key in dict.fromkeys([*later, *earlier]):
        if key.module not in same:
            continue
        old = earlier.get(key, ABSENT)
        new = later.get(key, ABSENT)
        if old is new or _text(old) == _text(new):
            continue
        if all(value is ABSENT or is_plain(value) for value in (old, new)):
            plain[key] = old
        else:
            others.append(str(key))
    return plain, others


@contextmanager
def attributes_put_back(model: nn.Module, values: Values) -> Iterator[None]:
    """Give attributes of a network copies of earlier values within the `with` statement.

    Args:
        model: The network, which is as before afterwards, also after a failure.
        values: The earlier values.
    """
    present = {
        key: vars(model.get_submodule(key.module)).get(key.name, ABSENT)
        for key in values
    }
    try:
        for key, value in values.items():
            _set(model, key, _copy(value))
        yield
    finally:
        for key, value in present.items():
            _set(model, key, value)


def set_attributes(model: nn.Module, attributes: Mapping[Attribute, object]) -> None:
    """Give a network the attributes that it had.

    Args:
        model: The network.
        attributes: The attributes that `attributes_of` returned then.
    """
    for key in {**attributes_of(model), **attributes}:
        _set(model, key, attributes.get(key, ABSENT))


def attribute_digest(model: nn.Module) -> str:
    """Hash the plain attributes of a network; equal values have equal hashes in every process."""
    digest = hashlib.sha256()
    for key, value in sorted(attributes_of(model).items()):
        if is_plain(value):
            digest.update(f"{key}={_text(value)};".encode())
    return digest.hexdigest()


def _set(model: nn.Module, key: Attribute, value: object) -> None:
    """Set an attribute as it was saved, past the setters of properties and of torch."""
    attributes = vars(model.get_submodule(key.module))
    if isinstance(value, _Absent):
        attributes.pop(key.name, None)
    else:
        attributes[key.name] = value


def _copy(value: object) -> object:
    # torch copies only leaves of a graph.
    memo = {id(tensor): tensor.detach().clone() for tensor in tensors_in(value)}
    return copy.deepcopy(value, memo)


def _text(value: object, depth: int = _DEPTH) -> str:
    """Return a value as text, the same in every process if it is plain; objects by their parts."""
    if isinstance(value, Tensor):
        return _tensor_text(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{sha256(value.tobytes())}"
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        enclosed = list(map(_text, filter(is_plain, cells)))
        # Not the code's address: a function may be made anew for each network.
        return f"{value.__qualname__} {hash(value.__code__)}{enclosed}"
    if isinstance(value, _SCALARS):
        return repr(value)
    if not depth:
        return ""
    inner = partial(_text, depth=depth - 1)
    if isinstance(value, set | frozenset):
        return str(sorted(map(inner, value)))
    if isinstance(value, list | tuple):
        return str(list(map(inner, value)))
    parts = getattr(value, "__dict__", {})
    if isinstance(value, Mapping):
        parts = value
    if isinstance(value, nn.Module):
        # Its weights are compared as those of the network.
        parts = {name: parts[name] for name in parts if not name.startswith("_")}
    texts = {inner(key): inner(member) for key, member in parts.items()}
    return f"{type(value).__name__}{texts}"


def _tensor_text(tensor: Tensor) -> str:
    """Return a tensor as text, only its type if it is nested or on the device `meta`."""
    if not is_plain(tensor):
        return str(tensor.dtype)
    dense = tensor.detach().cpu().to_dense().reshape(-1)
    values = dense.view(torch.uint8).numpy()
    return f"{_text(values)}{(tensor.dtype, tensor.shape)}"
