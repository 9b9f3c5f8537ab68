"""Examples of a recording, kept beside it once as plain tensors."""

from pathlib import Path
from typing import Any

import torch

from probe.batch import identical, kinds, tensors
from probe.errors import InputError, unreadable
from probe.examples import Examples
from probe.files import alone_in
from probe.record.state_files import keep_tensors

_PARTS = ("train", "test")


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
