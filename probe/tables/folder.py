"""Results as folders: tables as CSV, arrays as NPZ, and a description that lists all of them.

They hold no code and no pickles. A run directory of a study is read as well: it has the
same tables under the same names.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np

from probe.arrays import Arrays
from probe.errors import InputError
from probe.files import (
    hashed,
    make_folder,
    not_written,
    recorded_hashes,
    sha256,
    unfinished,
    unhashed,
)
from probe.immutable import immutable
from probe.tables.schemas import SCHEMAS, Tables

DESCRIPTION = "result.json"
"""The file that marks a folder as a saved result, with its kind and the version of its files."""

_ARRAYS = "arrays.npz"


@immutable
class Saved:
    """The contents of a folder.

    Attributes:
        kind: The kind of result.
        tables: The tables by name.
        record: The other contents, as JSON values.
        arrays: The arrays by name.
    """

    kind: str
    tables: Tables
    record: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)


def write_folder(folder: Path, saved: Saved) -> None:
    """Write a result into a folder, atomically, in place of an earlier result.

    Args:
        folder: A new or empty folder, or one with an earlier result.
        saved: The result.

    Raises:
        InputError: The folder holds anything else.
        NotWritten: The folder cannot be written.
    """
    folder = folder.absolute()
    _refuse_foreign(folder)
    make_folder(folder.parent)
    partial = unfinished(folder)
    old = unfinished(folder)
    try:
        partial.mkdir()
        _fill(partial, saved)
        # The old one is kept until the new one has taken its place.
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
    except OSError as error:
        if old.exists():
            old.rename(folder)
        raise not_written(folder, error) from None
    finally:
        for remains in (partial, old):
            shutil.rmtree(remains, ignore_errors=True)


def read_folder(folder: Path) -> Saved:
    """Return the contents that `write_folder` wrote.

    Raises:
        InputError: There is no result, or a file is missing or has changed since it was
            written.
    """
    description = _description(folder)
    arrays = {}
    for name, digest in description["files"].items():
        path = folder / name
        if not path.is_file() or sha256(path.read_bytes()) != digest:
            raise _damaged(path)
    if _ARRAYS in description["files"]:
        try:
            with np.load(folder / _ARRAYS, allow_pickle=False) as file:
                arrays = dict(file)
        # zipfile and NumPy raise almost anything for another kind of file.
        except Exception:
            raise _damaged(folder / _ARRAYS) from None
    return Saved(
        kind=description["kind"],
        record=description["record"],
        tables=read_tables(folder),
        arrays=arrays,
    )


def by_name(directories: Sequence[Path]) -> dict[str, Path]:
    """Return directories by their names; raises InputError if two have the same."""
    folders = {directory.resolve().name: directory for directory in directories}
    if len(folders) < len(directories):
        raise InputError(
            "two of the directories have the same name: name each once, or rename one"
        )
    return folders


def read_tables(folder: Path, names: Collection[str] = SCHEMAS) -> Tables:
    """Return the tables of a saved result or of a study's run directory.

    Args:
        folder: The folder.
        names: The tables to read; the others are empty.

    Raises:
        InputError: There is no measurements.csv, or a table cannot be read.
    """
    # With pandas, imported when it is asked for: to measure takes no table.
    from probe.tables.table_file import all_tables, read_table, table_file

    files = {name: table_file(folder, name) for name in names}
    if not isfile(files["measurements"]):
        if isfile(folder / "rows.csv"):
            raise InputError(
                f"{folder} was written by an earlier version of forgetting-probe: run "
                "its study again with another --out"
            )
        raise InputError(
            f"{folder} holds no result (no measurements.csv): name the directory of a "
            "`probe run`, or a folder that `save` wrote"
        )
    written = recorded_hashes(folder)
    present = {
        name: read_table(path, name)
        for name, path in files.items()
        if path.is_file() or f"{name}.csv" in written
    }
    return all_tables(**present)


def hashes_of_tables(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each table in a folder, by the name of its file."""
    paths = [folder / f"{name}.csv" for name in SCHEMAS]
    return {p.name: sha256(p.read_bytes()) for p in paths if p.is_file()}


def _fill(folder: Path, saved: Saved) -> None:
    """Write the tables, the arrays and their description, with hashes, to the disk."""
    from probe.tables.table_file import write_table

    for name, table in saved.tables.items():
        if len(table) or name == "measurements":
            write_table(folder / f"{name}.csv", name, table)
    if saved.arrays:
        with (folder / _ARRAYS).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **saved.arrays)
    files = {p.name: sha256(p.read_bytes()) for p in sorted(folder.iterdir())}
    described = {"kind": saved.kind, "record": saved.record, "files": files}
    (folder / DESCRIPTION).write_bytes(hashed(json.dumps(described).encode()))
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _refuse_foreign(folder: Path) -> None:
    """Raise InputError if a folder holds anything but an earlier result."""
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise InputError(
            f"cannot use {folder} ({error.strerror}): choose another folder"
        ) from None
    if DESCRIPTION in names:
        names -= {DESCRIPTION, _ARRAYS, *(f"{name}.csv" for name in SCHEMAS)}
    if names:
        raise InputError(
            f"{folder} holds something else ({min(names)}): choose another folder"
        )


def _description(folder: Path) -> Mapping[str, Any]:
    """Return the description of a folder."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{folder} holds no saved result (no {DESCRIPTION}): name a folder that "
            "`save` wrote"
        )
    try:
        description = json.loads(unhashed(path.read_bytes()))
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    # A file that somebody else has hashed may hold anything, also the name of a file
    # elsewhere.
    names = {_ARRAYS, *(f"{name}.csv" for name in SCHEMAS)}
    complete = (
        isinstance(description, dict)
        and {"kind", "record", "files"} <= description.keys()
    )
    files = description["files"] if complete else None
    if not isinstance(files, dict) or not set(files) <= names:
        raise _damaged(path)
    return dict(description)


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is damaged, or missing: save the result again")
