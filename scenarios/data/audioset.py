"""`probe prepare audioset`: AudioSet's published embeddings as a feature file (Kemker 2018).

The folder is the release's: `bal_train`, `unbal_train` and `eval` with TFRecord files
of SequenceExamples, an embedding of 128 bytes for each second, and
`class_labels_indices.csv`. The paper takes samples with one of 100 classes, which it
does not list: a file names them.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from probe.arrays import Array
from probe.errors import InputError, check_known, located
from probe.examples import Examples
from probe.progress import tracked
from scenarios.data.feature_files import write_features
from scenarios.data.tf_records import fields, records, varints

_SECONDS = 10
_WIDTH = 128
_SPLITS = {
    "train": ("bal_train", "unbal_train"),
    "test": ("eval",),
}
_TABLE = "class_labels_indices.csv"


def prepare_audioset(folder: Path, classes: Path, out: Path) -> None:
    """Write the samples with exactly one of the chosen classes to a feature file.

    An input is the embeddings of ten seconds in order, 1,280 bytes; shorter samples are
    left out.

    Args:
        folder: The folder of the release.
        classes: A file with a class on each line: its index, its id (`/m/09x0r`) or its
            name.
        out: The file to write.

    Raises:
        InputError: A split or the table of classes is missing, a class is unknown, or a
            file is truncated.
    """
    names = _chosen_names(folder / _TABLE, classes)
    train, test = (_read(folder, split, names, classes) for split in _SPLITS)
    write_features(out, train, test, [*names.values()])
    print(
        f"{out}: {len(train):,} training and {len(test):,} test samples of "
        f"{len(names)} classes (Kemker 2018: 28,779 and 5,523 of 100)"
    )


def _read(
    folder: Path, split: str, names: Mapping[int, str], classes: Path
) -> Examples:
    """Return the samples (N, 1280) of a split with exactly one of the classes.

    Raises InputError if there are no files, or a class has no sample. `classes` is the
    file that names the classes, for the message.
    """
    folders = [folder / name for name in _SPLITS[split]]
    paths: list[Path] = []
    for split_folder in folders:
        paths += sorted(split_folder.glob("*.tfrecord"))
    if not paths:
        where = " or ".join(map(str, folders))
        raise InputError(
            f"there are no TFRecord files in {where}: give the release's folder"
        )
    inputs: list[Array] = []
    labels: list[int] = []
    for path in tracked(paths, split):
        for x, label in _samples(path, [*names]):
            inputs.append(x)
            labels.append(label)
    if not labels:
        raise InputError(
            f"no sample of {split} has exactly one of the {len(names)} classes"
        )
    if absent := {*range(len(names))} - {*labels}:
        first = [*names.values()][min(absent)]
        raise InputError(
            f"{len(absent)} of the classes, as {first!r}, have no sample of "
            f"{split} that is of no other: leave these out of {classes}, or add "
            "files of the release"
        )
    return Examples(torch.from_numpy(np.stack(inputs)), torch.tensor(labels))


def _chosen_names(table: Path, classes: Path) -> Mapping[int, str]:
    """Return the names of the chosen classes by their index in the release, in the file's order.

    A line of the file may be an index, an id or a name in the release's table.
    """
    try:
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        lines = classes.read_text("utf-8").splitlines()
        lines = [line.strip() for line in lines if line.strip()]
        index_of: dict[str, int] = {}
        names: dict[int, str] = {}
        for row in rows:
            index = int(row["index"])
            names[index] = row["display_name"]
            for key in ("index", "mid", "display_name"):
                index_of[row[key]] = index
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"{table} and {classes} name the classes, but {error!s:.80}"
        ) from None
    for line in lines:
        check_known("class of AudioSet", line, index_of)
    indices = [index_of[line] for line in lines]
    if len(set(indices)) < max(2, len(indices)):
        raise InputError(
            f"{classes} names {len(set(indices))} classes on {len(lines)} lines"
        )
    return {index: names[index] for index in indices}


def _samples(path: Path, indices: list[int]) -> Iterator[tuple[Array, int]]:
    """Yield the embeddings (1280,) uint8 and class of the samples with exactly one chosen class."""
    with located(str(path)):
        for record in records(path):
            try:
                labels, seconds = _example(record)
            except (TypeError, KeyError, ValueError):
                raise InputError("a record is no SequenceExample of AudioSet") from None
            chosen = [indices.index(label) for label in labels if label in indices]
            widths = [len(second) for second in seconds]
            if len(chosen) == 1 and widths == [_WIDTH] * _SECONDS:
                yield np.frombuffer(b"".join(seconds), np.uint8), chosen[0]


def _example(record: bytes) -> tuple[list[int], list[bytes]]:
    """Return the labels, and the embedding of each second, of a SequenceExample."""
    # Field 1 is the context, by name; field 2 are the lists of features, by name.
    message = dict(fields(record))
    labels: list[int] = []
    # Labels are field 3 of a feature, an Int64List: numbers, packed or one by one.
    for number, entry in fields(_by_name(message[1])["labels"]):
        for value in _values(entry) if number == 3 else ():
            labels += [value] if isinstance(value, int) else varints(value)
    # Each second is a feature with a BytesList, field 1, of one value.
    frames = _values(_by_name(message[2])["audio_embedding"])
    return labels, [_embedding(frame) for frame in frames]


def _embedding(frame: bytes) -> bytes:
    """Return the bytes in a feature, joined: those of its lists of bytes."""
    return b"".join(map(b"".join, map(_values, _values(frame))))


def _values(message: bytes) -> list[Any]:
    """Return the values of a message's fields, without their numbers."""
    return [value for _, value in fields(message)]


def _by_name(message: bytes) -> dict[str, bytes]:
    """Return the entries of a map from names to messages."""
    entries = (dict(fields(entry)) for _, entry in fields(message))
    return {entry[1].decode(): entry[2] for entry in entries}
