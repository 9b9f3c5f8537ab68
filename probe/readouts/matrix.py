"""A feature as a matrix: the values of a module, a row for each example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from probe.batch import Value, mapped, tensors
from probe.cut.cuts import Cuts
from probe.cut.interface import Cut, CutFacts, TensorFacts
from probe.cut.model_call import explained
from probe.errors import InputError
from probe.readouts.pooling import Layout, Pooling, layout_of
from probe.training.evaluation import batch_size_on


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """A feature's values (N, D), float32, a row for each example; `how` describes their layout."""

    values: Tensor
    how: str

    @property
    def pooled(self) -> bool:
        """Whether the rows are pooled, not the full feature."""
        return not self.how.startswith("flattened")

    def __len__(self) -> int:
        return len(self.values)


@torch.no_grad()
def feature_matrices(
    cuts: Sequence[Cut],
    x: Value,
    batch_size: int | None = None,
    budget: int | None = None,
    pooling: Pooling | None = None,
) -> dict[str, FeatureMatrix]:
    """Return each feature's own values for all inputs, in eval mode and fp32, in one pass over x.

    They are flattened, or pooled where they are wide.

    >>> from torch import nn
    >>> from probe.cut.cuts import cut_each
    >>> model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
    >>> matrices = feature_matrices(cut_each(model, ["0", "1"], x).each, x)
    >>> bool((matrices["0"].values < 0).any()), bool((matrices["1"].values < 0).any())
    (True, False)
    >>> matrices["1"].how
    'flattened, 3 values'

    Args:
        cuts: Cuts of one model.
        x: Inputs, one or more tensors (N, ...), on the model's device, where the matrices will be.
        batch_size: By default one that is fast on the device; the last bits may depend on it.
        budget: Bytes of all matrices together, beyond which features are taken in several groups, a
            pass over x for each, which bounds the working memory; the result is the same. None = a
            single pass.
        pooling: The rule for wide values.

    Returns:
        The matrices by feature.

    Raises:
        InputError: A value has no row for each example.
    """
    matrices: dict[str, FeatureMatrix] = {}
    layouts = {cut.facts.name: _layouts(cut.facts, pooling or Pooling()) for cut in cuts}
    for group in _groups(cuts, layouts, len(tensors(x)[0]), budget):
        matrices |= _one_pass(Cuts(tuple(group)), layouts, x, batch_size)
    return matrices


def _layouts(facts: CutFacts, pooling: Pooling) -> list[Layout]:
    """Return the layout of each tensor of a feature."""
    sizes = []
    for tensor in facts.value:
        if tensor.dim is None:
            raise InputError(
                f"the value of feature {facts.name!r}, of shape {tensor.shape} for "
                f"{facts.examples} examples, has no row for each example: choose another feature "
                f"to read out"
            )
        sizes.append(torch.Size(tensor.example).numel())
    if sum(sizes) > pooling.width:
        pooling = replace(pooling, width=max(1, pooling.width // len(sizes)))
    return [_layout(tensor, pooling) for tensor in facts.value]


def _layout(tensor: TensorFacts, pooling: Pooling) -> Layout:
    """Return the layout of one tensor of a value, its channels where the module has them.

    Where no module tells, (B, C, H, W) and more dimensions are taken as torch's modules take them.
    """
    axis, remark = tensor.axis, ""
    if axis is None:
        axis = pooling.channels or ("first" if len(tensor.shape) > 3 else None)
        source = (
            "as set" if pooling.channels else "torch's convention, as no known module made them"
        )
        remark = f" ({axis}: {source})"
    if axis is None:
        remark = ", made by no known module (set linear's `channels` to average over positions),"
    return layout_of(tensor.example, tensor.channel_dim(axis), pooling, remark)


def _width(layouts: Sequence[Layout]) -> int:
    return sum(layout.width for layout in layouts)


def _groups(
    cuts: Sequence[Cut], layouts: dict[str, list[Layout]], count: int, budget: int | None
) -> Iterator[list[Cut]]:
    """Yield the cuts in groups whose matrices take no more than `budget` bytes, or one."""
    group: list[Cut] = []
    for cut in cuts:
        size = sum(4 * count * _width(layouts[c.facts.name]) for c in (*group, cut))
        if group and budget is not None and size > budget:
            yield group
            group = []
        group.append(cut)
    if group:
        yield group


def _one_pass(
    cuts: Cuts, layouts: dict[str, list[Layout]], x: Value, batch_size: int | None
) -> dict[str, FeatureMatrix]:
    """Fill the matrices of all these features in one pass over x (N, ...)."""
    count, device = len(tensors(x)[0]), tensors(x)[0].device
    size = batch_size or batch_size_on(device)
    names = cuts.features
    filled = {name: torch.empty(count, _width(layouts[name]), device=device) for name in names}
    for start in range(0, count, size):
        where = slice(start, min(start + size, count))
        batch = mapped(x, lambda tensor, where=where: tensor[where])  # type: ignore[misc]
        with explained(batch):
            for _, name, value in cuts.feature([batch]):
                pairs = zip(layouts[name], tensors(value), strict=True)
                rows = [_rows(name, *pair, where.stop - where.start) for pair in pairs]
                torch.cat(rows, 1, out=filled[name][where])
    how = {name: " + ".join(layout.how for layout in layouts[name]) for name in names}
    return {name: FeatureMatrix(filled[name], how[name]) for name in names}


def _rows(name: str, layout: Layout, value: Tensor, count: int) -> Tensor:
    """Return rows (B, D) of one tensor of a feature for a batch of `count` examples."""
    if value[0].numel() != torch.Size(layout.shape).numel() or len(value) != count:
        raise InputError(
            f"the value of feature {name!r} has shape {tuple(value.shape)} for a batch of {count}, "
            f"expected {(count, *layout.shape)}: choose a feature whose shape does not depend on "
            f"the data"
        )
    return layout.rows(value.reshape(count, *layout.shape))
