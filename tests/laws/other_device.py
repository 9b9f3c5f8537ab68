"""A device that is not the CPU, on any machine: its tensors hold CPU values that only it can reach.

Within a `with OtherDevice() as there` block tensors are put on `there.device` and
computed with as on a GPU: an operation that mixes devices raises as it does there, a
CPU generator cannot draw there, and whatever makes the host wait for the device, or the
device for the host, is counted.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import cache, partial
from operator import attrgetter
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from probe.memory import FileRows

DEVICE = torch.device("cuda")

CPU = torch.device("cpu")
# The host must wait: the result is a number of Python's, or its shape depends on
# values.
_WAITING = {
    "_local_scalar_dense",
    "_unique2",
    "bincount",
    "equal",
    "masked_select",
    "nonzero",
}
_INDEXING = {
    "index",
    "index_put",
    "index_put_",
    "_index_put_impl_",
    "_unsafe_index",
}
_COPYING = {"_to_copy", "to", "copy_"}  # `to` where autograd has been left


class Held(Tensor):
    """A tensor on the device: `held` has its values, in the CPU's memory."""

    held: Tensor

    @staticmethod
    def __new__(cls, held):
        # As torch's own fake tensors: to C++ it is a meta tensor, which autograd takes
        # as it is.
        made = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",
        )
        made.held = held
        return made

    @property
    def device(self):
        return DEVICE

    @property
    def data(self):
        return self.detach()

    @data.setter
    def data(self, value):
        Tensor.data.__set__(self, value)  # type: ignore[attr-defined]
        self.held = value.held

    def data_ptr(self):
        return self.held.data_ptr()

    def tolist(self):
        return self.cpu().tolist()

    def __deepcopy__(self, memo):
        copy = self.detach().clone().requires_grad_(self.requires_grad)
        copy.__dict__ |= {k: v for k, v in vars(self).items() if k != "held"}
        memo[id(self)] = copy
        return copy

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(
            f"{func} on a tensor of the other device outside of its block"
        )


class OtherDevice(TorchDispatchMode):
    """The device, within a `with` block; waits: how often an operation made anybody wait."""

    device = DEVICE

    def __init__(self):
        super().__init__()
        self.waits = Counter()

    def __enter__(self):
        # What `torch.tensor` makes is then put on the device by an operation that is
        # seen.
        with ExitStack() as stack:
            before = torch._C._only_lift_cpu_tensors()
            stack.callback(torch._C._set_only_lift_cpu_tensors, before)
            torch._C._set_only_lift_cpu_tensors(True)
            torch._C._ensureCUDADeviceGuardSet()
            if not torch.cuda.is_available():
                # Nothing ever reaches a driver.
                stack.enter_context(patch("torch.cuda._lazy_init"))
            self._borrowed = stack.pop_all()
        super().__enter__()
        return self

    def __exit__(self, *error):
        super().__exit__(*error)
        self._borrowed.close()

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # nothing here is compiled, and torch's wrapper is slow

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = dict(kwargs or {})
        tensors = []
        _changed(Tensor, tensors.append, (args, [*given.values()]))
        if any(isinstance(each, FileRows) for each in tensors):
            # Rows in the CPU's memory, whose batches are copied to the device.
            super().__enter__()
            try:
                return FileRows.__torch_dispatch__(func, types, args, given)
            finally:
                super().__exit__(None, None, None)
        held = [tensor for tensor in tensors if isinstance(tensor, Held)]
        asked = given.get("device")
        there = asked != CPU
        if asked is None:
            there = bool(held)
        if not (held or there):
            return func(*args, **given)
        _refuse_a_mixture(func, args, given, tensors, there)
        if _waits(func, args, given, tensors, there):
            self.waits[_name(func)] += 1
        reached = partial(_changed, Held, attrgetter("held"))
        values = {name: reached(each) for name, each in given.items()}
        if asked is not None:
            values["device"] = CPU
        out = func(*reached(args), **values)
        if there:
            out = _changed(Tensor, Held, out)
        return _written(func, args, given, out)


def _changed(kind, change, nested):
    """Return tuples and lists in which all of a kind are changed; torch's own is slow."""
    if isinstance(nested, tuple | list):
        return type(nested)([_changed(kind, change, each) for each in nested])
    return change(nested) if isinstance(nested, kind) else nested


def _refuse_a_mixture(func, args, given, tensors, there):
    """Raise RuntimeError where torch does for a GPU."""
    if any(each.device.type == "meta" for each in tensors):
        raise RuntimeError(
            f"{func} got a tensor that lost its values on the way to the device"
        )
    generator = given.get("generator")
    if there and generator is not None and generator.device == CPU:
        raise RuntimeError(
            f"{func} on the other device cannot draw from a CPU generator"
        )
    mixed = [each for each in tensors if not isinstance(each, Held)]
    if not mixed or len(mixed) == len(tensors) or _name(func) in _COPYING:
        return
    if _name(func) in _INDEXING and isinstance(args[0], Held):
        # Indices may be on the CPU: they are copied, for which somebody waits.
        indices = set(map(id, args[1]))
        mixed = [each for each in mixed if id(each) not in indices]
    pointwise = torch.Tag.pointwise in func.tags or _name(func) in _INDEXING
    if any(each.ndim or not pointwise for each in mixed):
        shapes = [tuple(each.shape) for each in mixed]
        raise RuntimeError(
            f"{func} mixes devices: CPU tensors of shapes {shapes} among others"
        )


def _waits(func, args, given, tensors, there):
    called = _name(func)
    if called in _INDEXING:
        # A mask's shape depends on values, and numbers from the CPU are copied.
        indices = [each for each in args[1] if each is not None]
        return any(
            each.dtype == torch.bool or not isinstance(each, Held) for each in indices
        )
    if called in _COPYING:
        if there and (given.get("non_blocking") or args[-1] is True):
            return False  # on the way to the device
        sides = {isinstance(each, Held) for each in tensors}
        if called != "copy_":
            sides.add(there)
        return len(sides) > 1
    return called in _WAITING


def _written(func, args, given, out):
    """Return an operation's results; what was written in place is the tensor that was given."""
    written = _written_arguments(func)
    if not written:
        return out
    outs = list(out if isinstance(out, tuple) else [out])
    for k, (place, name) in written.items():
        outs[k] = args[place] if place < len(args) else given.get(name)
    if isinstance(out, tuple):
        return tuple(outs)
    return outs[0]


@cache
def _written_arguments(func):
    """Return place and name of the argument that is written, by the result it becomes."""
    places = {}
    for place, each in enumerate(func._schema.arguments):
        if each.alias_info is not None and each.alias_info.is_write:
            places[frozenset(each.alias_info.before_set)] = place, each.name
    written = {}
    for k, each in enumerate(func._schema.returns):
        if each.alias_info is not None and each.alias_info.is_write:
            written[k] = places[frozenset(each.alias_info.before_set)]
    return written


@cache
def _name(func):
    return str(func.overloadpacket.__name__)
