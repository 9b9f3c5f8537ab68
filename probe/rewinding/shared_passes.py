"""Passes that share what blocks put back further downstream leave as it is.

Sets of blocks are tested in an order in which the deepest block changes most often, so
that most of a pass repeats the one before it: of six blocks in a row, 64 networks need
126 passes through a block in place of 384. The output of a module is used again if all
that has been read since its pass began is as it was: the tensors of every module
entered so far, whether the output depends on them or not. So networks of any shape can
be tested this way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from probe.modules import state_groups, tensors_in
from probe.rewinding.blocks import Changed

# Numbers of an example in all outputs that are kept: below, copying them and calling
# modules this way takes longer than what is spared.
_LEAST = 2**13


class _Output(NamedTuple):
    """The output of a module's call.

    Attributes:
        module: The name of the module.
        depth: The deepest block that was read from the beginning of the pass to the end
            of the call, -1 for none.
        end: The number of calls until then.
        value: A copy of the output.
    """

    module: str
    depth: int
    end: int
    value: Any


class SharedPasses:
    """The outputs of a network's modules in its last pass, which the next one shares.

    Args:
        network: The network, in eval mode.
        changed: The blocks that are put back, by depth.
    """

    def __init__(self, network: nn.Module, changed: Mapping[str, Changed]) -> None:
        self._network = network
        self._blocks = len(changed)
        self._depth_of_tensor = _depths(network, changed)
        self._entered = set[str]()
        # The deepest block that a module reads itself, and that may be read at any time.
        self._depth_of = dict[str, int]()
        self._at_any_time = self._blocks
        self._last = dict[int, _Output]()
        self._now = dict[int, _Output]()
        self._put_back = 0
        self._unchanged = 0
        self._calls = 0
        self._depth = self._blocks

    def begin(self, put_back: int, *, shares: bool = True) -> None:
        """Begin a pass.

        Args:
            put_back: The blocks that are put back, as bits by depth.
            shares: Whether its inputs are those of the last pass.
        """
        self._last = self._now if shares else {}
        self._now = {}
        differing = put_back ^ self._put_back
        self._unchanged = self._blocks
        if differing:
            self._unchanged = (differing & -differing).bit_length() - 1
        self._put_back = put_back
        self._calls = 0
        self._depth = self._at_any_time

    @contextmanager
    def within(self) -> Iterator[None]:
        """Let the network's modules share their outputs within the block."""
        modules = dict(self._network.named_modules())
        before = {name: vars(module).get("forward") for name, module in modules.items()}
        try:
            for name, module in modules.items():
                forward = partial(self._forward, name, module.forward)
                module.forward = forward
            yield
        finally:
            for name, module in modules.items():
                del module.forward
                if before[name] is not None:
                    module.forward = before[name]

    def are_exact(
        self,
        run: Callable[[], Tensor],
        put_back: Callable[[int], AbstractContextManager[None]],
    ) -> bool:
        """Return whether passes can share outputs, and spare more than they cost.

        Each block is put back with all downstream of it, with and without sharing: the
        results must be the same bit for bit.

        Args:
            run: Function that calls the network on a few examples, within `within`.
            put_back: Function of blocks, as bits by depth, that puts them back within a
                block.
        """
        self.begin(0, shares=False)
        expected = run()
        self._find_depths()
        self.begin(0, shares=False)
        run()
        numbers = 0
        for output in self._now.values():
            numbers += sum(tensor.numel() for tensor in tensors_in(output.value))
        if numbers < _LEAST * len(expected):
            return False
        every = (1 << self._blocks) - 1
        for k in range(self._blocks):
            downstream = every >> k << k
            with put_back(downstream):
                self.begin(downstream)
                shared = run()
                self.begin(downstream, shares=False)
                is_exact = torch.equal(run(), shared)
            self.begin(0)
            if not (is_exact and torch.equal(run(), expected)):
                return False
        return True

    def _find_depths(self) -> None:
        """Say which blocks each module reads: its tensors, and those of modules never entered."""
        self._at_any_time = -1
        for name, depth in self._depth_of_tensor.items():
            module = name.rpartition(".")[0]
            while module and module not in self._entered:
                module = module.rpartition(".")[0]
            if module in self._entered:
                self._depth_of[module] = max(depth, self._depth_of.get(module, -1))
            else:
                self._at_any_time = max(depth, self._at_any_time)

    def _forward(
        self, name: str, forward: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Return the output of a module, from the last pass if it is the same there."""
        number = self._calls
        last = self._last.get(number)
        if last and last.module == name and last.depth < self._unchanged:
            for call in range(number, last.end):
                if call in self._last:
                    self._now[call] = self._last[call]
            self._calls = last.end
            self._depth = max(self._depth, last.depth)
            return _copy(last.value)
        self._entered.add(name)
        self._calls += 1
        self._depth = max(self._depth, self._depth_of.get(name, -1))
        inputs = tensors_in([args, kwargs])
        before = list(map(_version, inputs))
        value = forward(*args, **kwargs)
        # The deepest block differs in every pass.
        is_kept = self._depth < self._blocks - 1 and _stands_alone(value, inputs)
        if is_kept and before == list(map(_version, inputs)):
            for call in range(number + 1, self._calls):
                if call in self._now and self._now[call].depth == self._depth:
                    del self._now[call]
            self._now[number] = _Output(name, self._depth, self._calls, _copy(value))
        return value


@contextmanager
def shared_passes(
    network: nn.Module,
    changed: Mapping[str, Changed],
    run: Callable[[], Tensor],
    put_back: Callable[[int], AbstractContextManager[None]],
) -> Iterator[SharedPasses | None]:
    """Let the passes of a network with blocks put back share outputs, within the block.

    Args:
        network: The network, in eval mode, which is as before afterwards.
        changed: The blocks, by depth.
        run: Function that calls the network on a few examples.
        put_back: Function of blocks, as bits by depth, that puts them back within a
            block.

    Yields:
        The passes; None if they cannot share outputs, or it is not worth it.
    """
    passes = SharedPasses(network, changed)
    is_scripted = any(
        isinstance(module, torch.jit.ScriptModule) for module in network.modules()
    )
    is_exact = False
    if len(changed) > 1 and not is_scripted:
        with passes.within():
            is_exact = passes.are_exact(run, put_back)
    if not is_exact:
        yield None
        return
    with passes.within():
        yield passes


def _depths(network: nn.Module, changed: Mapping[str, Changed]) -> dict[str, int]:
    """Return the depth of the block of each tensor and attribute that changes, by every name."""
    names_of: dict[str, tuple[str, ...]] = {}
    for group in state_groups(network):
        names_of |= dict.fromkeys(group, group)
    depths: dict[str, int] = {}
    for depth, content in enumerate(changed.values()):
        names: Iterable[str] = map(str, content.attributes)
        for tensor in content.tensors:
            names = (*names, *names_of.get(tensor, (tensor,)))
        depths |= dict.fromkeys(names, depth)
    return depths


def _stands_alone(value: object, inputs: Sequence[Tensor]) -> bool:
    """Return whether an output has copies that can take its place: it is no view of an input."""
    tensors = tensors_in(value)
    if len(tree_leaves(value)) != len(tensors) or not tensors:
        return False
    # Within `vmap` tensors have no memory of their own.
    if any(map(is_functorch_wrapped_tensor, (*tensors, *inputs))):
        return False
    memory = {tensor.untyped_storage()._cdata for tensor in inputs}
    return all(
        type(tensor) is Tensor and tensor.untyped_storage()._cdata not in memory
        for tensor in tensors
    )


def _copy(value: Any) -> Any:
    return tree_map_only(Tensor, Tensor.clone, value)


def _version(tensor: Tensor) -> int:
    """Return how often a tensor has been written to; tensors of inference mode do not tell."""
    return id(tensor) if tensor.is_inference() else tensor._version
