"""Examples of a recording, kept beside it once as plain tensors, or their name and hash."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from probe.batch import identical, kinds, tensor_hash, tensors
from probe.errors import InputError, unreadable
from probe.examples import Examples, match_inputs
from probe.files import alone_in, hashed, replacing, unhashed
from probe.record.state_files import keep_tensors

_PARTS = ("train", "test")


@dataclass(frozen=True, kw_only=True)
class DataReference:
    """Examples that are not kept: the name of what gives them, and their hash."""

    name: str
    sha: str

    @classmethod
    def to(cls, name: str, train: Examples[Any], test: Examples[Any]) -> Self:
        """Return a reference to examples by a name."""
        each = zip(_PARTS, (train, test), strict=True)
        named = {f"{half}.{at}": t for half, own in each for at, t in enumerate(_tensors(own))}
        return cls(name=name, sha=tensor_hash(named))

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the reference in a file, None without one; raises InputError if it is damaged."""
        try:
            return cls(**json.loads(unhashed(path.read_bytes())))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise InputError(f"{path} is damaged: remove it, and record with data= again") from None

    def check(self, train: Examples[Any], test: Examples[Any]) -> None:
        """Raise InputError unless examples are those that were recorded."""
        if DataReference.to(self.name, *match_inputs(train, test)).sha != self.sha:
            raise InputError(
                f"the data are not those of the recording, which {self.name} gave: give the same, "
                f"or record in another folder"
            )

    def keep(self, path: Path) -> None:
        """Write it atomically; raises NotWritten."""
        with alone_in(path.parent), replacing(path) as partial:
            partial.write_bytes(hashed(json.dumps(asdict(self)).encode()))


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
    parts = zip(_tensors(a), _tensors(b), strict=True)
    return all(identical(one, other.cpu()) for one, other in parts)


def _tensors(own: Examples[Any]) -> Iterator[Tensor]:
    yield from (*tensors(own.x), own.y, *([] if own.task is None else [own.task]))
