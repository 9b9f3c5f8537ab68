"""A feature as a matrix: the values of a module, a row for each example."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import torch
from torch import Tensor

from probe.analysis.units import Activity
from probe.batch import Named, Value, arranged, mapped, tensors
from probe.cut.cuts import Cuts
from probe.cut.interface import CutFacts, TensorFacts
from probe.cut.model_call import explained, masks_from
from probe.errors import InputError
from probe.readouts.pooling import Layout, Pooling, layout_of
from probe.training.evaluation import batch_size_for

_FEW = 4  # positions that are read side by side, however wide they are

Matrix = tuple[Tensor, str]
"""The values (N, D) of a feature, float32, one row per example, and their layout in words."""

Matrices = dict[str, Matrix]
"""The matrices of features by name."""


@torch.no_grad()
def feature_matrices(
    cuts: Cuts,
    x: Value,
    batch_size: int | None = None,
    pooling: Pooling | None = None,
    activities: dict[str, Activity] | None = None,
) -> Matrices:
    """Return each feature's own values for all inputs, in eval mode and fp32, in one pass over x.

    Values are flattened, or pooled if they are wide. If a mask is among the inputs,
    sequences are averaged over the positions that it keeps: padding would tell the
    length of a text, and so would the share of prompts, which are left out. Where none
    is named so, an input counts as a mask if it tells the positions that the logits
    depend on.

    >>> from torch import nn
    >>> from probe.cut.cuts import cut_each
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> x = torch.ones(5, 4)
    >>> _ = nn.init.constant_(model[0].weight, -1)
    >>> matrices = feature_matrices(cut_each(model, ["0", "1"], x), x)
    >>> bool((matrices["0"][0] < 0).any()), bool((matrices["1"][0] < 0).any())
    (True, False)
    >>> matrices["1"][1]
    'flattened, 3 values'

    Args:
        cuts: Cuts of one model.
        x: Inputs, one or more tensors (N, ...), on the model's device, where the
            matrices will be.
        batch_size: Examples in a batch, None = a size that is fast on the device; the
            last bits of the values may depend on it.
        pooling: The rule for wide values.
        activities: Filled with the units' activity by feature, before any pooling. A
            unit is a channel with its positions, or a single number where the channels'
            axis is unknown.

    Returns:
        The matrices by feature.

    Raises:
        InputError: A value has no row for each example.
    """
    mask = _mask(cuts.facts, x)
    length = None if mask is None else mask.shape[1]
    rule = pooling or Pooling()
    layouts = {facts.name: _layouts(facts, rule, length) for facts in cuts.facts}
    matrix_of = _one_pass(cuts, layouts, x, mask, batch_size, activities)
    matrices: Matrices = {}
    for facts in cuts.facts:
        name = facts.name
        matrices[name] = matrix_of[name], _how(facts, layouts[name], mask)
    return matrices


def _width(layouts: Sequence[Layout]) -> int:
    """Return the length D of an example's row, over all tensors of a feature."""
    return sum(layout.width for layout in layouts)


def _by_unit(tensor: TensorFacts, value: Tensor) -> Tensor:
    """Return the values (B, ...) of one tensor of a feature as (B, U, P): U units at P positions.

    A unit is a channel, or a single number where the channels' axis is unknown.
    """
    channels = tensor.channel_dim(tensor.axis)
    if channels is None:
        return value.reshape(len(value), -1, 1)
    units = value.shape[1 + channels]
    return value.movedim(1 + channels, 1).reshape(len(value), units, -1)


def _mask(features: Sequence[CutFacts], x: Value) -> Tensor | None:
    """Return the positions (N, L) that values are averaged over, None = all."""
    mask = _mask_in(x)
    values = list(chain.from_iterable(facts.value for facts in features))
    counting = _mask_by_padding(values, arranged(x, features[0].inputs))
    # A name does not tell whether 1 is padding.
    if mask is None or (counting is not None and torch.equal(~mask, counting)):
        mask = counting
    if mask is None and any(value.read == "last" for value in values):
        # The head reads the last id that is not 0, see `positions_read`.
        ids = (t for t in tensors(x) if t.ndim == 2 and not t.is_floating_point())
        mask = next((t != 0 for t in ids), None)
    return mask


def _mask_in(x: Value) -> Tensor | None:
    """Return the positions (N, L) that a mask among the inputs keeps, None without a mask.

    A mask has `mask` in its name, and is of 0 and 1, or 0 where positions are kept and
    negative elsewhere; with `pad` in its name 1 is padding, as in torch. One that would
    keep nothing, such as one of only zeros, drops nothing. Among inputs
    without names, it has the shape of token ids, all of which are the same where it
    drops positions.
    """
    if isinstance(x, Tensor):
        return None
    if isinstance(x, Mapping):
        for name, tensor in x.items():
            if "mask" in name and _may_be_mask(tensor):
                kept = (tensor == 0) == ("pad" in name or bool((tensor < 0).any()))
                return kept if kept.any() else ~kept
        return None
    for tensor in filter(_may_be_mask, x):
        for ids in x:
            is_whole = ids.shape == tensor.shape and not ids.is_floating_point()
            if is_whole and bool((ids > 1).any()):
                # The mask is 1 where it keeps a position if all ids at its 0s are alike.
                zero = tensor == 0
                dropped = ids[zero]
                return zero != bool((dropped == dropped[:1]).all())
    return None


def _mask_by_padding(values: Sequence[TensorFacts], x: Value) -> Tensor | None:
    """Return the positions (N, L) that count by the padding of a value, None if it has none."""
    for value in values:
        if isinstance(value.padding, tuple):
            index, number, length = value.padding
            return masks_from(tensors(x)[index], length)[number]
    return None


def _may_be_mask(tensor: Tensor) -> bool:
    """Return whether a tensor is a matrix of 0 and 1, or of numbers that are not above 0."""
    if tensor.ndim != 2:
        return False
    is_binary = (tensor == 0) | (tensor == 1)
    return bool(is_binary.all() or (tensor <= 0).all())


def _layouts(facts: CutFacts, pooling: Pooling, length: int | None) -> list[Layout]:
    """Return the layout of each tensor of a feature; several tensors share the rule's width."""
    if not facts.value:
        raise InputError(
            f"{facts.name!r} has no row for each example: choose another layer"
        )
    sizes = [torch.Size(tensor.example).numel() for tensor in facts.value]
    if sum(sizes) > pooling.width:
        pooling = replace(pooling, width=max(1, pooling.width // len(sizes)))
    return [_layout(tensor, pooling, length) for tensor in facts.value]


def _layout(tensor: TensorFacts, pooling: Pooling, length: int | None) -> Layout:
    """Return the layout of one tensor of a value, with the channel axis that its module implies."""
    axis = tensor.axis
    remark = ""
    shape = tuple(tensor.example)
    # If the network's head reads a sequence (L, C) at some positions, these are read.
    head = tensor.read if pooling.pool == "bins" else ()
    if head and (head != "last" or length == shape[0]):
        # The head may tell a few positions apart; of many it reads the mean.
        count = 1 if head == "last" else len(head)
        bins = count if count <= _FEW or count * shape[1] <= pooling.width else 1
        return Layout(
            shape=shape,
            channels=1,
            bins=(bins,),
            read=head,
        )
    if len(shape) == 2 and length is not None:
        channels = tensor.channel_dim(axis)
        if channels is None and length in shape and 1 < min(shape) < max(shape):
            channels = 1 - shape.index(length)
        # More positions begin with prompts; of fewer, each stands for several, as by
        # strides.
        if channels is not None and 1 < shape[1 - channels] < 2 * length:
            return Layout(
                shape=shape,
                channels=channels,
                bins=(1,),
                masked=True,
            )
    if axis is None and pooling.channels:
        axis = pooling.channels
        remark = f" ({pooling.channels}: as set)"
    elif axis is None:
        remark = (
            ", made by no known module (set linear's `channels` to average over "
            "positions),"
        )
    return layout_of(tensor.example, tensor.channel_dim(axis), pooling, remark)


def _one_pass(
    cuts: Cuts,
    layouts: dict[str, list[Layout]],
    x: Value,
    mask: Tensor | None,
    batch_size: int | None,
    activities: dict[str, Activity] | None,
) -> Named:
    """Return the values of all these features by name, from one pass over x (N, ...) in batches.

    mask: the positions (N, L) to average over; activities: see `feature_matrices`.
    """
    column = tensors(x)[0]
    count = len(column)
    size = batch_size or batch_size_for(x, column.device)
    value_of = {facts.name: facts.value for facts in cuts.facts}
    matrix_of = {
        name: column.new_empty((count, _width(layouts[name])), dtype=torch.float32)
        for name in value_of
    }
    for start in range(0, count, size):
        where = slice(start, min(start + size, count))
        batch = mapped(x, lambda tensor, where=where: tensor[where])  # type: ignore[misc]
        batch_mask = None if mask is None else mask[where]
        with explained(batch):
            for _, name, value in cuts.feature_values([batch]):
                rows = []
                for layout, tensor in zip(layouts[name], tensors(value), strict=True):
                    _check_shape(name, layout, tensor, where.stop - start)
                    examples = tensor.reshape(len(tensor), *layout.shape)
                    rows.append(layout.rows(examples, batch_mask))
                torch.cat(rows, 1, out=matrix_of[name][where])
                if activities is not None:
                    units = list(map(_by_unit, value_of[name], tensors(value)))
                    activities.setdefault(name, Activity()).add(units)
    return matrix_of


def _how(facts: CutFacts, layouts: Sequence[Layout], mask: Tensor | None) -> str:
    """Return the layout of a feature in words."""
    how = " + ".join(layout.description for layout in layouts)
    if mask is None and any(value.padding == "unknown" for value in facts.value):
        how = (
            "padding, if any, too, as no input tells which positions count (put a "
            f"`mask` among them), {how}"
        )
    return how


def _check_shape(name: str, layout: Layout, value: Tensor, count: int) -> None:
    """Raise InputError unless one tensor of a feature has `count` examples of the layout."""
    if value[0].numel() != torch.Size(layout.shape).numel() or len(value) != count:
        raise InputError(
            f"feature {name!r} is {tuple(value.shape)}, expected "
            f"{(count, *layout.shape)}: choose a layer around or after it"
        )
