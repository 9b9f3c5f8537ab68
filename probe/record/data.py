"""Examples of a recording, kept beside it once as plain tensors."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from probe.batch import identical, kinds, tensors
from probe.errors import InputError, located, unreadable
from probe.examples import Examples
from probe.files import alone_in
from probe.numbered import Data, joined
from probe.reading.items import is_whole
from probe.record.state_files import keep_tensors

_PARTS = ("train", "test")


def examples_of(data: object, name: str) -> Examples[Any]:
    """Return Examples as they are, or made from a list of them, a pair, a Dataset or a DataLoader.

    name: of the data, for messages. Raises InputError for anything else.

    >>> len(examples_of((torch.zeros(3, 8), torch.zeros(3).long()), "test"))
    3
    """
    each = data if isinstance(data, list) and data else [data]
    if all(isinstance(own, Examples) for own in each):
        return joined(cast(Data, data), name)
    if isinstance(data, tuple) and all(isinstance(own, Examples) for own in data):
        raise InputError(f"{name} is a tuple of Examples: give a list of those of each task")
    with located(name):
        match data:
            case [x, Tensor() | np.ndarray() as y] | [Tensor() | np.ndarray() as x, list() as y]:
                numbers = isinstance(y, np.ndarray) and y.dtype.kind in "biufc"
                labels: Any = torch.as_tensor(y) if numbers else y
                inputs = torch.as_tensor(x) if isinstance(x, np.ndarray) else x
                return Examples(inputs, labels.long() if is_whole(labels) else labels)
        return Examples.of(data)


def keep_data(path: Path, train: Examples[Any], test: Examples[Any]) -> None:
    """Write both to a file, unless it has them already.

    Raises InputError if it has others, and NotWritten. Of several processes one writes.
    """
    with alone_in(path.parent):
        if path.exists():
            for name, own, other in zip(_PARTS, load_data(path), (train, test), strict=True):
                if not _same(own, other):
                    raise InputError(
                        f"{path} holds other {name} data, x of {kinds(own.x)}, than those given, "
                        f"of {kinds(other.x)}: all runs of a folder share one data set, so choose "
                        f"another folder"
                    )
        else:
            both = zip(_PARTS, (train, test), strict=True)
            kept = {n: {k: v for k, v in vars(e).items() if v is not None} for n, e in both}
            keep_tensors(kept, path)


def load_data(path: Path) -> tuple[Examples[Any], Examples[Any]]:
    """Return the train and test examples of a file; no code of it is run.

    They stay in the file until they are used. Raises InputError for a file that is damaged.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        train, test = (Examples(**content[name]) for name in _PARTS)
    except OSError as error:
        raise unreadable(path, error, "give the folder of a recording with data") from None
    except Exception:
        # A damaged or hostile file makes torch raise almost anything.
        raise InputError(
            f"{path} is damaged, or holds no examples: remove it, and record once more with train="
        ) from None
    return train, test


def _same(a: Examples[Any], b: Examples[Any]) -> bool:
    # With the names of a mapping, in their order.
    if kinds(a.x) != kinds(b.x) or (a.task is None) != (b.task is None):
        return False
    parts = ([*tensors(own.x), own.y, *([] if own.task is None else [own.task])] for own in (a, b))
    return all(identical(one, other.cpu()) for one, other in zip(*parts, strict=True))
