"""A feature as a matrix: the values of a module, a row for each example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.batch import Value, mapped, tensors
from probe.cut.batch_dimension import BatchedShape
from probe.cut.model_call import explained
from probe.cut.names import Name
from probe.cut.replay import collect
from probe.cut.split import Cut, passing_values
from probe.errors import InputError
from probe.readouts.pooling import WIDE, Layout, layout_of
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
) -> dict[str, FeatureMatrix]:
    """Return each feature's own values for all inputs x (N, ...), by feature, in one pass over x.

    The values are the module's outputs in eval mode, in fp32, even where the cut keeps others:
    flattened, or averaged over positions where they are wide (`layout_of`).

    - cuts: of one model; x: on its device, where the matrices will be, too;
    - batch_size: by default one that is fast on the device; the last bits may depend on it;
    - budget: bytes of all matrices together, beyond which features are taken in several groups, a
      pass over x for each, which bounds the working memory; the result is the same. None = a
      single pass.

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
    for group in _groups([_Reading.of(cut) for cut in cuts], len(tensors(x)[0]), budget):
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
    def of(cls, cut: Cut) -> _Reading:
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
        each = [_of_one_example(shape) for shape in shapes]
        total = sum(torch.Size(shape).numel() for shape in each)
        share = WIDE // len(each) if total > WIDE else WIDE
        return cls(
            cut=cut, shapes=tuple(shapes), layouts=tuple(layout_of(one, share) for one in each)
        )

    def rows(self, found: Mapping[Name, Tensor], count: int) -> Iterator[Tensor]:
        """Yield rows (B, D) of each tensor of the value for a batch of `count` examples."""
        for name, shape, layout in zip(self.names, self.shapes, self.layouts, strict=True):
            if name not in found:
                raise InputError(
                    f"feature {self.name!r} is not computed on some examples, as the model takes "
                    f"another path there: choose another feature to read out"
                )
            value = shape.to_rows(found[name])
            if value[0].numel() != torch.Size(layout.shape).numel() or len(value) != count:
                raise InputError(
                    f"the value of feature {self.name!r} has shape {tuple(value.shape)} for a "
                    f"batch of {count}, expected {(count, *layout.shape)}: choose a feature whose "
                    f"shape does not depend on the data"
                )
            yield layout.rows(value.reshape(count, *layout.shape))


def _of_one_example(shape: BatchedShape) -> tuple[int, ...]:
    """Return the shape of one example's value; what (k B, T, D) holds of it is (k T, D)."""
    one = shape.example
    if len(one) == len(shape.seen.shape) == 3:
        return (one[0] * one[1], one[2])
    return one


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
        for name, value in passing_values([each.cut for each in readings], batch):
            yield by_name[name], dict(zip(by_name[name].names, tensors(value), strict=True))
        return
    wanted = {name for each in readings for name in each.names}
    found = collect(readings[0].cut.feature.trace, wanted, batch)
    for each in readings:
        yield each, found
