"""Examples of a recording, saved beside it once as plain tensors, or their name and hash."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from probe.batch import identical, kinds, tensor_hash, tensors
from probe.errors import InputError, unreadable
from probe.examples import AnyExamples, Examples, match_inputs
from probe.files import hashed, replacing, unhashed
from probe.immutable import immutable
from probe.locks import lock
from probe.record.state_files import keep_tensors

_SPLITS = ("train", "test")


@immutable
class DataReference:
    """A reference to examples that are not saved: the name of their source, and their hash."""

    name: str
    sha: str

    @classmethod
    def of(cls, name: str, train: AnyExamples, test: AnyExamples) -> Self:
        """Return a reference to examples: their source's name, and a hash of all their tensors.

        Args:
            name: The name of their source, such as `mydata:load`.
            train: The training examples.
            test: The test examples.

        Returns:
            The reference.
        """
        columns = {}
        for split, examples in zip(_SPLITS, (train, test), strict=True):
            for number, tensor in enumerate(_columns(examples)):
                columns[f"{split}.{number}"] = tensor
        return cls(name=name, sha=tensor_hash(columns))

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the reference in a file, if any; raises InputError if it is damaged."""
        try:
            return cls(**json.loads(unhashed(path.read_bytes())))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise InputError(
                f"{path} is damaged: remove it, and record with data= again"
            ) from None

    def check(self, train: AnyExamples, test: AnyExamples) -> None:
        """Check that examples are the recorded ones.

        Args:
            train: The training examples.
            test: The test examples.

        Raises:
            InputError: The examples are others.
        """
        if DataReference.of(self.name, *match_inputs(train, test)).sha != self.sha:
            raise InputError(
                f"the data are not those recorded, which {self.name} gives: use them"
            )

    def keep(self, path: Path) -> None:
        """Write the reference to a file atomically; raises NotWritten."""
        with lock(path.parent, wait=True), replacing(path) as partial:
            partial.write_bytes(hashed(json.dumps(asdict(self)).encode()))


def keep_data(path: Path, train: AnyExamples, test: AnyExamples) -> None:
    """Write train and test examples to a file, unless it has them already.

    If several processes call this function, one of them writes.

    Args:
        path: The file.
        train: The training examples.
        test: The test examples.

    Raises:
        InputError: The file has other examples.
        NotWritten: The file cannot be written.
    """
    with lock(path.parent, wait=True):
        if not path.exists():
            keep_tensors({"train": _present(train), "test": _present(test)}, path)
            return
        for split, stored, examples in zip(
            _SPLITS, load_data(path), (train, test), strict=True
        ):
            # The kinds of a mapping of inputs include its names, in order.
            same_kinds = kinds(stored.x) == kinds(examples.x)
            columns = _columns(stored)
            others = [column.cpu() for column in _columns(examples)]
            same_count = same_kinds and len(columns) == len(others)
            if not (same_count and all(map(identical, columns, others))):
                raise InputError(
                    f"{path} holds other {split} data, x of {kinds(stored.x)}, got x "
                    f"of {kinds(examples.x)}: choose another folder for other data"
                )


def load_data(path: Path) -> tuple[AnyExamples, AnyExamples]:
    """Return the train and test examples in a file, without running any code in it.

    The tensors stay in the file until they are used.

    Args:
        path: The file that `keep_data` wrote.

    Returns:
        The train and test examples.

    Raises:
        InputError: The file is damaged.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        train, test = (Examples(**content[split]) for split in _SPLITS)
    except OSError as error:
        raise unreadable(
            path, error, "give the folder of a recording with data"
        ) from None
    except Exception:
        # A damaged or hostile file makes torch raise almost anything.
        raise InputError(
            f"{path} is damaged or empty: record again with train="
        ) from None
    return train, test


def _present(examples: AnyExamples) -> dict[str, Any]:
    """Return the fields of examples that are not None, by name."""
    return {name: x for name, x in vars(examples).items() if x is not None}


def _columns(examples: AnyExamples) -> list[Tensor]:
    """Return all tensors of examples in order: inputs, labels and, if there are any, task ids."""
    task = [] if examples.task is None else [examples.task]
    return [*tensors(examples.x), examples.y, *task]
