"""Hashes of the tables in a folder, kept in its description, which show that a table has changed.

Without pandas: a run directory is described before there is any table.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from probe.errors import InputError
from probe.files import content_of
from probe.tables.schemas import SCHEMAS


def hashes_of_tables(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each table in a folder, by the name of its file."""
    paths = [folder / f"{name}.csv" for name in SCHEMAS]
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths if p.is_file()}


def recorded_hashes(folder: Path) -> Mapping[str, str]:
    """Return the hashes in a folder's description.

    Folders of earlier versions, and copies of only the tables, have none.
    """
    # Of a run directory, or of a saved result.
    for name, key in (("study.json", "hashes"), ("result.json", "files")):
        with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
            return dict(json.loads(content_of(folder / name))[key])
    return {}


def check_hash(path: Path) -> None:
    """Check that a table is the recorded one, unless it was compressed since.

    Args:
        path: The file of the table.

    Raises:
        InputError: The table has changed since it was written.
        OSError: The file cannot be read.
    """
    digest = hashlib.sha256(content_of(path)).hexdigest()
    if recorded_hashes(path.parent).get(path.name, digest) != digest:
        what = f"{path} is not as it was written (edited? cut off?)"
        raise InputError(f"{what}: start its `probe run`, or the call that made it, again")
