"""Changes between two networks, block by block: tensors, their kinds, and how far."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import nn

from probe.batch import Named
from probe.immutable import immutable
from probe.modules import named_state
from probe.rewinding.blocks import Changed
from probe.rewinding.two_networks import TwoNetworks
from probe.training.batch_norm import running_norms

WEIGHTS = "weights"
STATISTICS = "norm statistics"
BUFFERS = "buffers"
ATTRIBUTES = "attributes"


@immutable
class BlockChange:
    """The change of a block.

    Attributes:
        block: The name of the block.
        tensors: The number of its tensors.
        changed: The number of those that differ, or are new.
        kinds: The kinds of what differs.
        relative: The norm of the change over the norm before, of all that differs; NaN
            if there is nothing to compare with.
        attributes: The names of attributes that differ.
    """

    block: str
    tensors: int
    changed: int
    kinds: tuple[str, ...]
    relative: float
    attributes: tuple[str, ...] = ()


def block_changes(two: TwoNetworks) -> list[BlockChange]:
    """Compare two networks block by block."""
    before = two.before.state
    state = {name: tensor.detach() for name, tensor in named_state(two.last).items()}
    kind_of = tensor_kinds(two.last)
    blocks = two.parts.blocks
    changes = []
    for block in dict.fromkeys([*blocks, *two.changed]):
        names = blocks.get(block, ())
        differing = differing_tensors(names, before, state)
        keys = two.changed.get(block, Changed()).attributes
        kinds = [kind_of[name] for name in differing] + [ATTRIBUTES] * len(keys)
        changes.append(
            BlockChange(
                block=block,
                tensors=len(names),
                changed=len(differing),
                kinds=tuple(dict.fromkeys(kinds)),
                relative=_relative(differing, before, state),
                attributes=tuple(map(str, keys)),
            )
        )
    return changes


def differing_tensors(names: Iterable[str], before: Named, after: Named) -> list[str]:
    """Return the names of tensors that differ, or are new."""
    return [
        name
        for name in names
        if name not in before or not torch.equal(before[name], after[name])
    ]


def tensor_kinds(network: nn.Module) -> dict[str, str]:
    """Return the kind of each tensor by name."""
    kind_of = {
        id(t): STATISTICS for norm in running_norms(network) for t in norm.buffers()
    }
    kind_of |= {id(parameter): WEIGHTS for parameter in network.parameters()}
    return {
        name: kind_of.get(id(t), BUFFERS) for name, t in named_state(network).items()
    }


def _relative(names: Sequence[str], before: Named, after: Named) -> float:
    """Return the norm of the change of tensors over their norm before."""
    change = 0.0
    size = 0.0
    for name in names:
        earlier = before.get(name)
        later = after[name]
        if earlier is None or earlier.shape[1:] != later.shape[1:]:
            continue
        if earlier.ndim:
            later = later[: len(earlier)]
        change += float((later.double() - earlier.double()).square().sum())
        size += float(earlier.double().square().sum())
    return math.sqrt(change / size) if size else math.nan
