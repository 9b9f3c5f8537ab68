"""What a feature's value depends on, found by following one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from probe.errors import InputError
from probe.layers import layer, named_state, tap
from probe.modes import mode

_Sources = frozenset[str]
_NOTHING: _Sources = frozenset()
_Key = tuple[int, int, int]


@dataclass(frozen=True)
class Origin:
    """Where the value of a feature comes from.

    state: names of the parameters and buffers that it depends on (W_F of Murata 2020, section 2);
    output: names of those that the model's output depends on;
    inside, outside: names of the modules whose own operations feed the feature, and of those with
    operations that do not (a module can be in both); calls: how often the feature was computed.
    """

    state: frozenset[str]
    output: frozenset[str]
    inside: frozenset[str]
    outside: frozenset[str]
    calls: int


@torch.no_grad()
def origin(model: nn.Module, feature: str, sample: Tensor) -> Origin:
    """Follow `model(sample)` in eval mode and return what the feature's value is computed from.

    Decided by the computation, not by names or by order of registration: a branch that runs before
    the feature without feeding it is no part of it. Raises InputError if the feature does not run
    or gives no tensor.
    """
    layer(model, feature)
    follow = _Follow(named_state(model))
    found: list[tuple[_Sources, set[int]]] = []

    def reached(name: str, output: object) -> None:
        tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)]
        if not tensors:
            raise InputError(f"feature {feature!r} gives no tensor, but {type(output).__name__}")
        found.append((follow.sources(tensors), set(follow.operations(tensors))))

    taps = tap(model, [feature], reached)
    with mode(model, training=False), follow.calls_of(model), taps, follow:
        output = model(sample.clone())
    if not found:
        raise InputError(f"feature {feature!r} does not run in the model's forward pass")
    state, operations = found[-1]
    return Origin(
        state=state,
        output=follow.sources(leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)),
        inside=frozenset(follow.owner[k] for k in operations),
        outside=frozenset(owner for k, owner in enumerate(follow.owner) if k not in operations),
        calls=len(found),
    )


class _Follow(TorchFunctionMode):
    """Labels every storage with the state and the operations that its content depends on.

    Storages and not tensors, so that views share their label with what they look into; only where
    a storage holds state, one label per region of it, because many parameters may share a storage.
    Storages are kept alive while this object is, so that no address is used twice.
    """

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__()
        self.owner: list[str] = []
        self._stack: list[str] = [""]
        self._state: dict[_Key, set[str]] = {}
        self._operations: dict[_Key, set[int]] = {}
        self._alive: list[torch.UntypedStorage] = []
        self._shared = {_address(tensor) for tensor in state.values()}
        for name, tensor in state.items():
            self._state.setdefault(self._key(tensor), set()).add(name)

    def sources(self, tensors: Iterable[Tensor]) -> _Sources:
        """Return the names of the parameters and buffers that the tensors depend on."""
        return _NOTHING.union(*(self._state.get(self._key(t), ()) for t in tensors))

    def operations(self, tensors: Iterable[Tensor]) -> frozenset[int]:
        """Return the numbers of the operations that the tensors depend on."""
        return frozenset().union(*(self._operations.get(self._key(t), ()) for t in tensors))

    @contextmanager
    def calls_of(self, model: nn.Module) -> Iterator[None]:
        """Within the block, know whose forward runs: an operation belongs to the innermost."""
        handles = []
        try:
            for name, module in model.named_modules():
                enter = module.register_forward_pre_hook(self._entering(name))
                leave = module.register_forward_hook(self._leaving, always_call=True)
                handles += [enter, leave]
            yield
        finally:
            for handle in handles:
                handle.remove()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        versions = [tensor._version for tensor in inputs]
        result = func(*args, **(kwargs or {}))
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        outputs += [t for t, old in zip(inputs, versions, strict=True) if t._version != old]
        if outputs:
            self._label(outputs, inputs)
        return result

    def _label(self, outputs: list[Tensor], inputs: list[Tensor]) -> None:
        state = self.sources(inputs)
        operations = self.operations(inputs) | {len(self.owner)}
        self.owner.append(self._stack[-1])
        for tensor in outputs:
            key = self._key(tensor)
            self._state.setdefault(key, set()).update(state)
            self._operations.setdefault(key, set()).update(operations)
            self._alive.append(tensor.untyped_storage())

    def _key(self, tensor: Tensor) -> _Key:
        address = _address(tensor)
        if address not in self._shared:
            return address, 0, 0
        return address, int(tensor.storage_offset()), tensor.numel()

    def _entering(self, name: str) -> Callable[[nn.Module, object], None]:
        return lambda module, inputs: self._stack.append(name)

    def _leaving(self, module: nn.Module, inputs: object, output: object) -> None:
        self._stack.pop()


def _address(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
