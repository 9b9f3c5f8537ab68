"""`probe prepare audioset`: AudioSet's published embeddings as a feature file (Kemker 2018).

The folder is the release's: `bal_train`, `unbal_train` and `eval` with TFRecord files
of SequenceExamples, an embedding of 128 bytes for each second, and
`class_labels_indices.csv`. The paper takes samples with one of 100 classes, which it
does not list: a file names them.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch

from probe.errors import InputError, located, unknown
from probe.examples import Examples
from probe.memory import Array
from probe.progress import tracked
from scenarios.data.feature_files import write_features
from scenarios.data.tf_records import fields, records, varints

_SECONDS, _WIDTH = 10, 128
_SPLITS = {"train": ("bal_train", "unbal_train"), "test": ("eval",)}
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
    names = _chosen(folder / _TABLE, classes)
    splits = {}
    for split, parts in _SPLITS.items():
        paths = [
            path
            for part in parts
            for path in sorted((folder / part).glob("*.tfrecord"))
        ]
        if not paths:
            where = " or ".join(str(folder / part) for part in parts)
            raise InputError(
                f"there are no TFRecord files in {where}: give the release's folder"
            )
        samples = [
            s for path in tracked(paths, split) for s in _samples(path, [*names])
        ]
        if not samples:
            raise InputError(
                f"no sample of {split} has exactly one of the {len(names)} classes"
            )
        x, y = zip(*samples, strict=True)
        if absent := {*range(len(names))} - {*y}:
            first = [*names.values()][min(absent)]
            raise InputError(
                f"{len(absent)} of the classes, as {first!r}, have no sample of "
                f"{split} that is of no other: leave these out of {classes}, or add "
                "files of the release"
            )
        splits[split] = Examples(torch.from_numpy(np.stack(x)), torch.tensor(y))
    train = splits["train"]
    test = splits["test"]
    write_features(out, train, test, [*names.values()])
    sizes = (
        f"{len(train):,} training and {len(test):,} test samples of {len(names)} "
        "classes"
    )
    print(f"{out}: {sizes} (Kemker 2018: 28,779 and 5,523 of 100)")


def _chosen(table: Path, classes: Path) -> Mapping[int, str]:
    """Return the names of the chosen classes, by their index in the release."""
    try:
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        lines = [
            line.strip()
            for line in classes.read_text("utf-8").splitlines()
            if line.strip()
        ]
        index_of = {
            row[key]: int(row["index"])
            for row in rows
            for key in ("index", "mid", "display_name")
        }
        names = {int(row["index"]): row["display_name"] for row in rows}
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"{table} and {classes} name the classes, but {error!s:.80}"
        ) from None
    for line in lines:
        if line not in index_of:
            raise unknown("class of AudioSet", line, index_of)
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
            if (
                len(chosen) == 1
                and [len(second) for second in seconds] == [_WIDTH] * _SECONDS
            ):
                yield np.frombuffer(b"".join(seconds), np.uint8), chosen[0]


def _example(record: bytes) -> tuple[list[int], list[bytes]]:
    """Return the labels and the embeddings of a SequenceExample: context, 1, and lists, 2."""
    message = dict(fields(record))
    # An Int64List is the field 3 of a feature, its numbers field 1, packed or one by
    # one.
    lists = [
        entry for number, entry in fields(_by_name(message[1])["labels"]) if number == 3
    ]
    values = [value for entry in lists for _, value in fields(entry)]
    labels = [n for v in values for n in ([v] if isinstance(v, int) else varints(v))]
    # Each second is a feature with a BytesList, field 1, of one value.
    frames = [frame for _, frame in fields(_by_name(message[2])["audio_embedding"])]
    return labels, [
        b"".join(value for _, entry in fields(frame) for _, value in fields(entry))
        for frame in frames
    ]


def _by_name(message: bytes) -> dict[str, bytes]:
    """Return the entries of a map from names to messages."""
    entries = (dict(fields(entry)) for _, entry in fields(message))
    return {entry[1].decode(): entry[2] for entry in entries}
