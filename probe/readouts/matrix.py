"""A feature as a matrix: the values of a module, a row for each example."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from probe.batch import Value, mapped, tensors
from probe.cut.cuts import Cuts
from probe.cut.interface import Cut, CutFacts, TensorFacts
from probe.cut.model_call import explained
from probe.errors import InputError
from probe.readouts.pooling import Layout, Pooling, layout_of
from probe.training.evaluation import batch_size_on

Matrices = dict[str, tuple[Tensor, str]]
"""The values (N, D) of each feature, float32, one row per example, and their layout in words."""


@torch.no_grad()
def feature_matrices(
    cuts: Sequence[Cut],
    x: Value,
    batch_size: int | None = None,
    budget: int | None = None,
    pooling: Pooling | None = None,
) -> Matrices:
    """Return each feature's own values for all inputs, in eval mode and fp32, in one pass over x.

    Values are flattened, or pooled if they are wide.

    >>> from torch import nn
    >>> from probe.cut.cuts import cut_each
    >>> model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
    >>> matrices = feature_matrices(cut_each(model, ["0", "1"], x).each, x)
    >>> bool((matrices["0"][0] < 0).any()), bool((matrices["1"][0] < 0).any())
    (True, False)
    >>> matrices["1"][1]
    'flattened, 3 values'

    Args:
        cuts: Cuts of one model.
        x: Inputs, one or more tensors (N, ...), on the model's device, where the matrices will be.
        batch_size: Examples in a batch, None = a size that is fast on the device; the last bits of
            the values may depend on it.
        budget: Bytes of memory for all matrices together. Beyond it, features are computed in
            several groups, with one pass over x each; the result is the same. None = one pass.
        pooling: The rule for wide values.

    Returns:
        The matrices by feature.

    Raises:
        InputError: A value has no row for each example.
    """
    matrices: Matrices = {}
    layouts = {cut.facts.name: _layouts(cut.facts, pooling or Pooling()) for cut in cuts}
    row_bytes = {name: 4 * sum(layout.width for layout in layouts[name]) for name in layouts}
    groups: list[list[Cut]] = []
    size = 0
    for cut in cuts:
        added = row_bytes[cut.facts.name] * len(tensors(x)[0])
        if not groups or (budget is not None and size + added > budget):
            groups.append([])
            size = 0
        groups[-1].append(cut)
        size += added
    for group in groups:
        matrices |= _one_pass(Cuts(tuple(group)), layouts, x, batch_size)
    return matrices


def _layouts(facts: CutFacts, pooling: Pooling) -> list[Layout]:
    """Return the layout of each tensor of a feature."""
    sizes = []
    for tensor in facts.value:
        if tensor.dim is None:
            raise InputError(
                f"{facts.name!r} has no row for each example, {tensor.shape}: choose another layer"
            )
        sizes.append(torch.Size(tensor.example).numel())
    if sum(sizes) > pooling.width:
        pooling = replace(pooling, width=max(1, pooling.width // len(sizes)))
    return [_layout(tensor, pooling) for tensor in facts.value]


def _layout(tensor: TensorFacts, pooling: Pooling) -> Layout:
    """Return the layout of one tensor of a value, with the channel axis that its module implies.

    If no module implies it, a tensor of four or more dimensions is read as (B, C, H, W, ...), as by
    torch's own modules.
    """
    axis, remark = tensor.axis, ""
    if axis is None and pooling.channels:
        axis, remark = pooling.channels, f" ({pooling.channels}: as set)"
    elif axis is None and len(tensor.shape) > 3:
        axis, remark = "first", " (first: torch's convention, as no known module made them)"
    elif axis is None:
        remark = ", made by no known module (set linear's `channels` to average over positions),"
    return layout_of(tensor.example, tensor.channel_dim(axis), pooling, remark)


def _one_pass(
    cuts: Cuts, layouts: dict[str, list[Layout]], x: Value, batch_size: int | None
) -> Matrices:
    """Fill the matrices of all these features in one pass over x (N, ...)."""
    count, device = len(tensors(x)[0]), tensors(x)[0].device
    size = batch_size or batch_size_on(device)
    names = cuts.features
    widths = {name: sum(layout.width for layout in layouts[name]) for name in names}
    filled = {name: torch.empty(count, widths[name], device=device) for name in names}
    for start in range(0, count, size):
        where = slice(start, min(start + size, count))
        batch = mapped(x, lambda tensor, where=where: tensor[where])  # type: ignore[misc]
        with explained(batch):
            for _, name, value in cuts.feature([batch]):
                pairs = zip(layouts[name], tensors(value), strict=True)
                rows = [_rows(name, *pair, where.stop - start) for pair in pairs]
                torch.cat(rows, 1, out=filled[name][where])
    return {
        name: (filled[name], " + ".join(layout.how for layout in layouts[name])) for name in names
    }


def _rows(name: str, layout: Layout, value: Tensor, count: int) -> Tensor:
    """Return rows (B, D) of one tensor of a feature for a batch of `count` examples."""
    if value[0].numel() != torch.Size(layout.shape).numel() or len(value) != count:
        raise InputError(
            f"feature {name!r} is {tuple(value.shape)}, expected {(count, *layout.shape)}"
        )
    return layout.rows(value.reshape(count, *layout.shape))
