"""A feature as a matrix: the values of a module, a row for each example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from probe.batch import Value, mapped, tensors
from probe.cut.batch_dimension import BatchedShape
from probe.cut.channels import Axis, channels_of
from probe.cut.model_call import explained
from probe.cut.names import Name
from probe.cut.replay import collect
from probe.cut.split import Cut, passing_values
from probe.cut.trace import Trace
from probe.errors import InputError
from probe.readouts.pooling import Layout, Pooling, layout_of
from probe.training.evaluation import batch_size_on


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """A feature's values (N, D), float32, a row for each example; how: their layout."""

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
    """Return each feature's own values for all inputs x (N, ...), by feature, in one pass over x.

    The values are the module's outputs in eval mode, in fp32, even where the cut keeps others:
    flattened, or pooled where they are wide.

    - cuts: of one model; x: on its device, where the matrices will be, too;
    - batch_size: by default one that is fast on the device; the last bits may depend on it;
    - budget: bytes of all matrices together, beyond which features are taken in several groups, a
      pass over x for each, which bounds the working memory; the result is the same. None = a
      single pass;
    - pooling: of wide values, see `Pooling`.

    Raises InputError if a value has no row for each example.

    >>> from torch import nn
    >>> from probe.cut.cuts import cut_each
    >>> model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
    >>> found = feature_matrices(cut_each(model, ["0", "1"], x).each, x)
    >>> bool((found["0"].values < 0).any()), bool((found["1"].values < 0).any())
    (True, False)
    >>> found["1"].how
    'flattened, 3 values'
    """
    found: dict[str, FeatureMatrix] = {}
    readings = [_Reading.of(cut, pooling or Pooling()) for cut in cuts]
    for group in _groups(readings, len(tensors(x)[0]), budget):
        found |= _one_pass(group, x, batch_size)
    return found


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The way from a feature to rows: the batch dimension and the layout of each of its tensors."""

    cut: Cut
    shapes: tuple[BatchedShape, ...]
    layouts: tuple[Layout, ...]

    @property
    def name(self) -> str:
        return self.cut.name

    @property
    def names(self) -> tuple[Name, ...]:
        return self.cut.feature.visit.names

    @property
    def width(self) -> int:
        """D, the numbers of a row."""
        return sum(layout.width for layout in self.layouts)

    @property
    def how(self) -> str:
        return " + ".join(layout.how for layout in self.layouts)

    @classmethod
    def of(cls, cut: Cut, pooling: Pooling) -> _Reading:
        """Look at the feature as it was when the model was followed at two batch sizes."""
        seen, visit = cut.feature.trace, cut.feature.visit
        shapes = []
        for name, large in zip(visit.names, visit.metadata, strict=True):
            shape = seen.shapes.get(name)
            if shape is None or shape.dim is None:
                raise InputError(
                    f"the value of feature {cut.name!r}, of shape {large.shape} for "
                    f"{seen.sizes[0]} examples, has no row for each example: choose another "
                    f"feature to read out"
                )
            shapes.append(shape)
        if sum(torch.Size(shape.example).numel() for shape in shapes) > pooling.width:
            pooling = replace(pooling, width=max(1, pooling.width // len(shapes)))
        layouts = [
            _layout(seen, name, shape, pooling)
            for name, shape in zip(visit.names, shapes, strict=True)
        ]
        return cls(cut=cut, shapes=tuple(shapes), layouts=tuple(layouts))

    def rows(self, found: Mapping[Name, Tensor], count: int) -> Iterator[Tensor]:
        """Yield rows (B, D) of each tensor of the value for a batch of `count` examples."""
        for name, shape, layout in zip(self.names, self.shapes, self.layouts, strict=True):
            if name not in found:
                raise InputError(
                    f"feature {self.name!r} is computed in another way for some batches, as the "
                    f"model's path depends on the data: choose another feature to read out, or "
                    f"retrain alone"
                )
            value = shape.to_rows(found[name])
            if value[0].numel() != torch.Size(layout.shape).numel() or len(value) != count:
                raise InputError(
                    f"the value of feature {self.name!r} has shape {tuple(value.shape)} for a "
                    f"batch of {count}, expected {(count, *layout.shape)}: choose a feature whose "
                    f"shape does not depend on the data"
                )
            yield layout.rows(value.reshape(count, *layout.shape))


def _layout(seen: Trace, name: Name, shape: BatchedShape, pooling: Pooling) -> Layout:
    """Return the layout of one tensor of a value, its channels where the module has them.

    Where no module tells, (B, C, H, W) and more dimensions are taken as torch's modules take them.
    """
    axis, remark = channels_of(seen, name), ""
    if axis is None:
        axis = pooling.channels or ("first" if len(shape.seen.shape) > 3 else None)
        by = "as set" if pooling.channels else "torch's convention, as no known module made them"
        remark = f" ({axis}: {by})"
    if axis is None:
        remark = ", made by no known module (set linear's `channels` to average over positions),"
    return layout_of(shape.example, _dimension(shape, axis), pooling, remark)


def _dimension(shape: BatchedShape, axis: Axis | None) -> int | None:
    """Return the dimension of the channels in an example, None where it is unknown."""
    at = 1 if axis == "first" else len(shape.seen.shape) - 1
    if axis is None or shape.dim is None or at == shape.dim:
        return None
    # Without the examples; but the k entries of an example in (k B, ...) come first.
    return at - (at > shape.dim) + (shape.per[shape.dim] > 1)


def _groups(
    readings: Sequence[_Reading], count: int, budget: int | None
) -> Iterator[list[_Reading]]:
    """Yield the features in groups whose matrices take no more than `budget` bytes, or one."""
    group: list[_Reading] = []
    for reading in readings:
        size = sum(4 * count * each.width for each in (*group, reading))
        if group and budget is not None and size > budget:
            yield group
            group = []
        group.append(reading)
    if group:
        yield group


def _one_pass(
    readings: Sequence[_Reading], x: Value, batch_size: int | None
) -> dict[str, FeatureMatrix]:
    """Fill the matrices of all these features in one pass over x (N, ...)."""
    first = tensors(x)[0]
    count, device = len(first), first.device
    size = batch_size or batch_size_on(device)
    filled = {each.name: torch.empty(count, each.width, device=device) for each in readings}
    # What a link of a chain gives needs no names; but a cut may keep what comes later and is less.
    plain = all(
        each.cut.chain is not None and each.cut.plan and each.cut.plan.kept == each.names
        for each in readings
    )
    for start in range(0, count, size):
        where = slice(start, min(start + size, count))
        batch = mapped(x, lambda tensor, where=where: tensor[where])  # type: ignore[misc]
        with explained(batch):
            for reading, found in _values(readings, batch, plain):
                rows = list(reading.rows(found, where.stop - where.start))
                torch.cat(rows, 1, out=filled[reading.name][where])
    return {each.name: FeatureMatrix(filled[each.name], each.how) for each in readings}


def _values(
    readings: Sequence[_Reading], batch: Value, plain: bool
) -> Iterator[tuple[_Reading, Mapping[Name, Tensor]]]:
    """Yield each feature with its values for a batch, which the next step may overwrite."""
    if plain:
        by_name = {each.name: each for each in readings}
        for _, name, value in passing_values([each.cut for each in readings], [batch]):
            yield by_name[name], dict(zip(by_name[name].names, tensors(value), strict=True))
        return
    wanted = {name for each in readings for name in each.names}
    found = collect(readings[0].cut.feature.trace, wanted, batch)
    for each in readings:
        yield each, found
