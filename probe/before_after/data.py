"""Old, new and stored examples of a comparison, as tensors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probe.arrays import Array, Bools
from probe.batch import Value, gather, like, tensors
from probe.errors import InputError
from probe.immutable import immutable
from probe.reading.item_format import same_form
from probe.rewinding.data import as_pair, has_classes
from probe.rewinding.scoring import Pair, Score
from probe.seeding import permutation, stream

PER_TARGET = 10
"""Stored examples that stand for one of each class where there are no classes."""


@immutable(eq=False)
class Stored:
    """Stored training examples, from which few are drawn.

    Attributes:
        sets: Old and new examples, or those of both together.
    """

    sets: tuple[Pair, ...]

    @property
    def has_classes(self) -> bool:
        """Whether labels are the numbers of classes."""
        return all(has_classes(y) for _, y in self.sets)

    def draw(self, k: int, seed: int) -> Pair:
        """Draw k examples of each class, or 10 k in all where labels are no classes.

        Args:
            k: The number of examples of each class of each set; a class may have fewer.
            seed: The seed of the draw.
        """
        parts = []
        for number, (x, y) in enumerate(self.sets):
            order = permutation(len(y), stream(seed, "stored", number))
            indices = order[: PER_TARGET * k]
            if self.has_classes:
                labels = y.cpu()[order]
                few = [(labels == label).nonzero()[:k, 0] for label in labels.unique()]
                indices = order[torch.cat(few)]
            parts.append((gather(x, indices), y[indices]))
        return joined(parts)


def joined(pairs: Sequence[Pair]) -> Pair:
    """Return the examples of several sets as one."""
    device = pairs[0][1].device
    columns = zip(*(tensors(x) for x, _ in pairs), strict=True)
    x = like(pairs[0][0], (_joined(column, device) for column in columns))
    return x, _joined([y for _, y in pairs], device)


def _joined(parts: Iterable[Tensor], device: torch.device) -> Tensor:
    return torch.cat([part.to(device) for part in parts])


def as_pairs(old: Any, new: Any, score: Score) -> list[Pair]:
    """Read old examples, and new ones in the same form if there are any."""
    pairs = [as_pair(old, "old", score)]
    if new is not None:
        x, y = as_pair(new, "new", score)
        pairs.append((same_form(x, pairs[0][0]), y))
    return pairs


def stored(data: Any, tests: Sequence[Pair], score: Score) -> Stored:
    """Read stored examples, old and new ones apart if they are given so.

    Args:
        data: Examples; or those of old and new, as a tuple of two or a mapping of `old`
            and `new`, or of one of these.
        tests: The test examples; none of them may be among the stored ones.
        score: The score, which says whether whole numbers are classes.

    Raises:
        InputError: They have another form, or are among the test examples.
    """
    if isinstance(data, Mapping) and set(data) == {"old", "new"}:
        data = (data["old"], data["new"])
    elif isinstance(data, Mapping) and set(data) in ({"old"}, {"new"}):
        [data] = data.values()
    # A pair (x, y) has a tensor or an array in the second place.
    is_two_sets = isinstance(data, tuple | list) and len(data) == 2
    if is_two_sets and not isinstance(data[1], Tensor | np.ndarray | list):
        old, new = data
        sets = [as_pair(old, "train, old", score), as_pair(new, "train, new", score)]
    else:
        sets = [as_pair(data, "train", score)]
    form = tests[0][0]
    sets = [(same_form(x, form), y) for x, y in sets]
    tested = np.concatenate([_rows(x) for x, _ in tests])
    shared = sum(int(np.isin(_rows(x), tested).sum()) for x, _ in sets)
    if shared:
        raise InputError(
            f"{shared} examples of train are test examples: leave them out"
        )
    return Stored(sets=tuple(sets))


def _rows(x: Value) -> Array:
    """Return the examples as rows of bytes, (N,), which numpy can compare."""
    content = []
    for tensor in tensors(x):
        values = tensor.detach().cpu().reshape(len(tensor), -1).contiguous()
        content.append(values.view(torch.uint8))
    rows = torch.cat(content, dim=1).numpy()
    return rows.view(np.dtype((np.void, rows.shape[1])))[:, 0]


def halves(sizes: Sequence[int], seed: int) -> Bools:
    """Return which examples belong to the half on which remedies are chosen, (N,).

    Args:
        sizes: The numbers of old and new examples, N in all; each is halved.
        seed: The seed of the halves.
    """
    chosen = []
    for number, size in enumerate(sizes):
        order = permutation(size, stream(seed, "half", number)).numpy()
        chosen.append(order < size // 2)
    return np.concatenate(chosen)
