"""Blocks: the parameters and buffers of a network, parted by its features."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from probe.cut.interface import CutFacts
from probe.errors import InputError
from probe.modules import named_state, state_groups

_UNREAD = "num_batches_tracked"  # of batch norm, which eval mode never reads

Blocks = Mapping[str, tuple[str, ...]]
"""The names of the tensors of each block, by the feature at its end, by depth."""


def blocks_of(model: nn.Module, cuts: Iterable[CutFacts], output: str) -> Blocks:
    """Part a network: a block holds what its feature depends on and no earlier feature does.

    A tensor that is used in several places, as a tied weight, belongs to the first of them, under
    one of its names. Batch norm's statistics belong to the block of their layer.

    Args:
        model: The network.
        cuts: Facts about its cuts at the features.
        output: The name of the last block, which has all that no feature depends on.

    Returns:
        The blocks, without empty ones.
    """
    remaining = {group[0]: set(group) for group in state_groups(model)}
    blocks: dict[str, tuple[str, ...]] = {}
    for cut in sorted(cuts, key=lambda cut: cut.position):
        frozen = set(cut.frozen)
        blocks[cut.name] = tuple(n for n, aliases in remaining.items() if aliases & frozen)
        for name in blocks[cut.name]:
            del remaining[name]
    rest = tuple(name for name in remaining if not name.endswith(_UNREAD))
    blocks[output] = (*blocks.get(output, ()), *rest)
    return {feature: names for feature, names in blocks.items() if names}


def changed_blocks(blocks: Blocks, before: Mapping[str, Tensor], model: nn.Module) -> Blocks:
    """Return the blocks whose values differ from those of an earlier network.

    Args:
        blocks: The blocks of the network.
        before: The tensors of the earlier network, by name.
        model: The network.
    """
    state = named_state(model)
    return {
        feature: names
        for feature, names in blocks.items()
        if any(name in before and not torch.equal(before[name], state[name]) for name in names)
    }


@contextmanager
def rewound(model: nn.Module, names: Iterable[str], before: Mapping[str, Tensor]) -> Iterator[None]:
    """Put tensors of an earlier network into a network inside the block; no parameter is copied.

    Of a tensor that has grown since, as a head's, the earlier rows are put back. Buffers are
    copied, as a forward pass may write into them.

    Args:
        model: The network, which is as before afterwards, also after a failure.
        names: The tensors to put back.
        before: The tensors of the earlier network, by name.

    Raises:
        InputError: A tensor has another shape in the earlier network, and has not grown.
    """
    state = named_state(model)
    present = {name: state[name].data for name in names if name in before}
    earlier = {name: _grown(name, before[name], tensor) for name, tensor in present.items()}
    buffers = {n: t.clone() for n, t in state.items() if not isinstance(t, nn.Parameter)}
    try:
        for name, tensor in earlier.items():
            state[name].data = tensor.clone() if name in buffers else tensor
        yield
    finally:
        # A forward pass may have put another tensor in the place of a buffer.
        now = named_state(model)
        for name, tensor in (present | buffers).items():
            now[name].data = tensor


def _grown(name: str, before: Tensor, now: Tensor) -> Tensor:
    """Return an earlier tensor, with the rows that have come since."""
    if before.shape == now.shape:
        return before
    if before.shape[1:] != now.shape[1:] or len(before) > len(now):
        raise InputError(
            f"{name!r} has shape {tuple(before.shape)} in the earlier network and "
            f"{tuple(now.shape)} in the last: only a first dimension may grow"
        )
    return torch.cat([before, now[len(before) :]])
