"""Results as folders: tables as CSV, arrays as NPZ, and a description that knows all of them.

Nothing in them is code, and nothing is pickled. A run directory of a study is read as well: it has
the same tables under the same names.
"""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.errors import InputError
from probe.files import hashed, make_folder, not_written, unfinished, unhashed
from probe.tables import rows
from probe.tables.table_file import read_table, table_file, write_table

KINDS: Mapping[str, type[Any]] = {
    "measurements": rows.MeasurementRow,
    "layers": rows.LayerRow,
    "statements": rows.StatementRow,
    "statement_seeds": rows.StatementSeedRow,
    "first_layer": rows.FirstLayerRow,
    "notes": rows.NoteRow,
    "summary": rows.SummaryRow,
    "metrics": rows.MetricRow,
    "learners": rows.LearnerRow,
    "costs": rows.CostRow,
    "times": rows.TimeRow,
    "retraining": rows.RetrainingRow,
    "diagnostics": rows.DiagnosticRow,
    "controls": rows.ControlRow,
}
"""The tables that a result can hold, by name, with the kind of their rows."""

Tables = Mapping[str, Sequence[Any]]
"""Tables by name, each a sequence of rows of its kind; one without rows may be lacking."""

DESCRIPTION = "result.json"
"""The file that marks a folder as a saved result, with its kind and the version of its files."""

_ARRAYS = "arrays.npz"


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The contents of a folder; kind: of result; record: JSON values; arrays: by name."""

    kind: str
    tables: Tables
    record: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def write_folder(folder: Path, saved: Saved) -> None:
    """Write a result into a folder, atomically.

    An empty folder and an earlier result are replaced. Raises InputError for a folder that holds
    anything else, and NotWritten if it cannot be written.
    """
    _refuse_foreign(folder)
    make_folder(folder.absolute().parent)
    partial = unfinished(folder.absolute())
    try:
        partial.mkdir()
        _fill(partial, saved)
        _exchange(partial, folder.absolute())
    except OSError as error:
        raise not_written(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_folder(folder: Path) -> Saved:
    """Return the contents that `write_folder` wrote.

    Raises InputError for a folder without a result, and for one in which a file is missing or is
    not as it was written.
    """
    contents = _contents(folder)
    files: Mapping[str, str] = contents["files"]
    for name, expected in files.items():
        path = folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _damaged(path, f"it cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise _damaged(path, "its content does not match its hash")
    return Saved(
        kind=contents["kind"],
        record=contents["record"],
        tables=read_tables(folder),
        arrays=_arrays(folder / _ARRAYS) if _ARRAYS in files else {},
    )


def read_tables(folder: Path) -> Tables:
    """Return the tables of a saved result or of a study's run directory, those that are there.

    Raises:
        InputError: There is no measurements.csv, or a table cannot be read.
    """
    files = {name: table_file(folder, name) for name in KINDS}
    if not files["measurements"].is_file():
        if (folder / "rows.csv").is_file():
            raise InputError(
                f"{folder} was written by an earlier version of forgetting-probe: run its study "
                f"again with another --out"
            )
        raise InputError(
            f"{folder} holds no result (no measurements.csv): name the directory of a `probe run`, "
            f"or a folder that `save` wrote"
        )
    return {name: read_table(p, KINDS[name]) for name, p in files.items() if p.is_file()}


def _fill(folder: Path, saved: Saved) -> None:
    for name, table in saved.tables.items():
        if table or name == "measurements":
            write_table(folder / f"{name}.csv", KINDS[name], table)
    if saved.arrays:
        with (folder / _ARRAYS).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **saved.arrays)
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}
    described = {"kind": saved.kind, "record": saved.record, "files": files}
    (folder / DESCRIPTION).write_bytes(hashed(json.dumps(described).encode()))
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _exchange(partial: Path, folder: Path) -> None:
    """Replace a folder by another; the old one is kept until then."""
    if not folder.exists():
        partial.rename(folder)
        return
    old = unfinished(folder)
    folder.rename(old)
    try:
        partial.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Raise InputError for a folder that holds something, unless that is an earlier result."""
    try:
        there = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use {folder} ({error.strerror}): choose another folder") from None
    known = {DESCRIPTION}
    with suppress(InputError):
        known |= set(_contents(folder)["files"]) if there else set()
    if foreign := sorted(there - known):
        raise InputError(f"{folder} holds something else ({foreign[0]}): choose another folder")


def _contents(folder: Path) -> Mapping[str, Any]:
    """Return the description of a folder."""
    path = folder / DESCRIPTION
    try:
        found = json.loads(unhashed(path.read_bytes()))
    except OSError as error:
        raise InputError(
            f"{folder} holds no saved result ({DESCRIPTION}: {error.strerror}): name a folder that "
            f"`save` wrote"
        ) from None
    except (ValueError, RecursionError):
        raise _damaged(path, "its content does not match its hash") from None
    # What is hashed by somebody else may still be anything, also the name of a file elsewhere.
    whole = isinstance(found, dict) and {"kind", "record", "files"} <= found.keys()
    names = {f"{name}.csv" for name in KINDS} | {_ARRAYS}
    if not whole or not isinstance(found["files"], dict) or not set(found["files"]) <= names:
        raise _damaged(path, "it describes no result")
    return dict(found)


def _arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as found:
            return dict(found)
    # zipfile and NumPy raise almost anything for what is no such file.
    except Exception:
        raise _damaged(path, "it holds no arrays") from None


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged ({why}): save the result again")
