"""Blocks: the parameters, buffers and attributes of a network, parted by its features."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import cached_property
from typing import Self

import torch
from torch import Tensor, nn

from probe.batch import Named
from probe.cut.interface import CutFacts
from probe.errors import InputError
from probe.immutable import immutable
from probe.modules import named_state, state_groups
from probe.rewinding.attributes import (
    Attribute,
    Values,
    attributes_put_back,
    compare_attributes,
)

UNREAD = "num_batches_tracked"  # of batch norm, which eval mode never reads

Blocks = dict[str, tuple[str, ...]]
"""The names of the tensors of each block, by the feature at its end, by depth."""


@immutable
class Changed:
    """The content of a block that differs from an earlier network.

    Attributes:
        tensors: The names of all tensors of the block.
        attributes: The attributes that differ.
    """

    tensors: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()


@immutable(eq=False)
class Earlier:
    """An earlier network, whose blocks are put back.

    Attributes:
        state: Its tensors by name.
        attributes: The earlier values of the attributes that differ from the last
            network's.
        others: The names of what else differs from the last network, and cannot be put
            back.
    """

    state: Named
    attributes: Values = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, before: nn.Module, model: nn.Module) -> Self:
        """Compare an earlier network with the last one.

        Args:
            before: The earlier network.
            model: The last network.
        """
        attributes, others = compare_attributes(before, model)
        state = {name: tensor.detach() for name, tensor in named_state(before).items()}
        return cls(state=state, attributes=attributes, others=tuple(others))


def blocks_of(model: nn.Module, cuts: Iterable[CutFacts], output: str) -> Blocks:
    """Part a network: a block holds what its feature depends on and no earlier feature does.

    A tensor that is used in several places, as a tied weight, belongs to the first of
    them, under one of its names. Batch norm's statistics belong to the block of their
    layer.

    Args:
        model: The network.
        cuts: Facts about its cuts at the features.
        output: The name of the last block, which has all that no feature depends on.

    Returns:
        The blocks, without empty ones.
    """
    cuts = sorted(cuts, key=lambda cut: cut.position)
    remaining = {group[0]: group for group in state_groups(model)}
    blocks: Blocks = {}
    for cut in cuts:
        frozen = set(cut.frozen)
        blocks[cut.name] = tuple(
            name for name, names in remaining.items() if not frozen.isdisjoint(names)
        )
        for name in blocks[cut.name]:
            del remaining[name]
    # Nothing depends on the weights of an adapter that is not active.
    parameters = dict(model.named_parameters(remove_duplicate=False))
    unread = parameters.keys() - {name for cut in cuts for name in cut.trained}
    rest: Blocks = {output: ()}
    for name, names in remaining.items():
        block = None
        if unread.issuperset(names):
            block = _block_around(name, blocks)
        if not name.endswith(UNREAD):
            rest[block or output] = (*rest.get(block or output, ()), name)
    for name, names in rest.items():
        blocks[name] = (*blocks.get(name, ()), *names)
    return {feature: names for feature, names in blocks.items() if names}


def changed_blocks(
    blocks: Blocks, before: Earlier, model: nn.Module
) -> dict[str, Changed]:
    """Return the blocks whose tensors or attributes differ from those of an earlier network.

    An attribute belongs to the block of the smallest module around it that has tensors.
    If these are of several blocks, or there is no such module, it belongs to a further
    block, "attributes of MODULE". Such blocks come last.

    Args:
        blocks: The blocks of the network.
        before: The earlier network.
        model: The network.
    """
    state = named_state(model)
    attributes: dict[str, list[Attribute]] = {}
    for key in before.attributes:
        attributes.setdefault(_block_of(key, blocks, model), []).append(key)
    changed: dict[str, Changed] = {}
    for feature, names in blocks.items():
        present = [name for name in names if name in before.state]
        differ = any(
            not torch.equal(before.state[name], state[name]) for name in present
        )
        of_block = tuple(attributes.pop(feature, ()))
        if differ or of_block:
            changed[feature] = Changed(tensors=names, attributes=of_block)
    return changed | {
        name: Changed(attributes=tuple(keys)) for name, keys in attributes.items()
    }


def _block_of(key: Attribute, blocks: Blocks, model: nn.Module) -> str:
    """Return the block that an attribute belongs to, or the name of its own."""
    block = _block_around(f"{key.module}.{key.name}", blocks) if key.module else None
    return block or f"attributes of {key.module or type(model).__name__}"


def _block_around(name: str, blocks: Blocks) -> str | None:
    """Return the block of the smallest module around a name that has tensors, if it is one.

    >>> blocks = {"first": ("conv1.weight",), "tenth": ("conv10.weight",)}
    >>> _block_around("conv1.task", blocks)
    'first'
    """
    path = name.rpartition(".")[0]
    block_of = {name: block for block, names in blocks.items() for name in names}
    while path:
        inside = {
            block for name, block in block_of.items() if name.startswith(f"{path}.")
        }
        if inside:
            return inside.pop() if len(inside) == 1 else None
        path = path.rpartition(".")[0]
    return None


@immutable(eq=False)
class Change:
    """The change of a network since an earlier one, by blocks.

    Attributes:
        earlier: The earlier network.
        last: The last network, which is as before after blocks were put back.
        blocks: Its blocks.
    """

    earlier: nn.Module
    last: nn.Module
    blocks: Blocks

    @cached_property
    def before(self) -> Earlier:
        """The earlier network, as it is put back."""
        return Earlier.of(self.earlier, self.last)

    @cached_property
    def changed(self) -> dict[str, Changed]:
        """The blocks that have changed."""
        return changed_blocks(self.blocks, self.before, self.last)

    def rewound(
        self, names: Iterable[str], grown: bool = True
    ) -> AbstractContextManager[None]:
        """Put blocks that have changed into the last network within the `with` statement."""
        contents = [self.changed[name] for name in names]
        return rewound(self.last, contents, self.before, grown)


@contextmanager
def rewound(
    model: nn.Module, contents: Iterable[Changed], before: Earlier, grown: bool = True
) -> Iterator[None]:
    """Put blocks of an earlier network into a network within the `with` statement.

    No parameter is copied. Buffers are, as a forward pass may write into them.

    If a tensor has grown since, as a head's, its earlier rows are put back.

    Args:
        model: The network, which is as before afterwards, also after a failure.
        contents: The blocks to put back.
        before: The earlier network.
        grown: Whether tensors keep the rows that have come since; else they have their
            earlier shape.

    Raises:
        InputError: A tensor has another shape in the earlier network, and has not
            grown.
    """
    state = named_state(model)
    buffers = {
        n: t.clone() for n, t in state.items() if not isinstance(t, nn.Parameter)
    }
    present: Named = {}
    earlier: Named = {}
    attributes: dict[Attribute, object] = {}
    for content in contents:
        attributes |= {key: before.attributes[key] for key in content.attributes}
        for name in content.tensors:
            if name not in before.state:
                continue
            present[name] = state[name].data
            earlier[name] = before.state[name]
            if grown:
                earlier[name] = with_new_rows(name, earlier[name], present[name])
    try:
        for name, tensor in earlier.items():
            if name in buffers:
                tensor = tensor.clone()
            state[name].data = tensor
        with attributes_put_back(model, attributes):
            yield
    finally:
        # A forward pass may have put another tensor in the place of a buffer.
        now = named_state(model)
        for name, tensor in (present | buffers).items():
            now[name].data = tensor


def with_new_rows(name: str, before: Tensor, now: Tensor) -> Tensor:
    """Return an earlier tensor, extended by the rows that have come since.

    Args:
        name: The name of the tensor.
        before: The earlier tensor.
        now: The tensor in the last network.

    Raises:
        InputError: They differ in more than the number of rows, or rows have gone.
    """
    if before.shape == now.shape:
        return before
    same_rows = before.dim() == now.dim() and before.shape[1:] == now.shape[1:]
    if not same_rows or len(before) > len(now):
        remedy = "only a first dimension may grow"
        if same_rows:
            remedy = f"keep its first {len(now)} rows in the earlier network"
        raise InputError(
            f"{name!r} has shape {tuple(before.shape)} in the earlier network and "
            f"{tuple(now.shape)} in the last: {remedy}"
        )
    return torch.cat([before, now[len(before) :]])
