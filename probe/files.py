"""Files that are written completely or not at all, with hashes that show later changes."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import ESPIPE
from pathlib import Path
from uuid import uuid4
from zipfile import ZipFile

from probe.errors import InputError, NotWritten


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; after the block it replaces `path`.

    A failure, or the end of the process, leaves `path` unchanged. Raises NotWritten if
    the file cannot be written.
    """
    partial = unfinished(path)
    try:
        if is_special(path):
            raise OSError(ESPIPE, "it is a device or a pipe")
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        discard(partial)


def is_special(path: Path) -> bool:
    """Return whether a path is a device, pipe or socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, all of it or nothing; raises NotWritten."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def unfinished(path: Path) -> Path:
    """Return a unique name beside `path` for a file that is not finished yet."""
    return path.parent / f"{path.name}.{uuid4().hex[:8]}{_UNFINISHED}"


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed processes; no other process may write to the folder now.

    Only files named by `unfinished` are removed, as a user's file may have the same
    ending.
    """
    for path in folder.glob(f"*.{'[0-9a-f]' * 8}{_UNFINISHED}"):
        discard(path)


def content_of(path: Path) -> bytes:
    """Return the bytes of a file; raises OSError for what no reading may end."""
    if is_special(path):
        raise OSError(ESPIPE, "it is a device or a pipe")
    return path.read_bytes()


def discard(path: Path) -> None:
    """Remove a file, if it is there and can be removed."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents.

    Args:
        folder: The folder.

    Raises:
        NotWritten: The folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from None


def not_written(path: Path, error: OSError) -> NotWritten:
    """Return the error for a file or folder that cannot be written.

    Args:
        path: The file or folder.
        error: The reason.

    Returns:
        The error.
    """
    remedy = "make room there, allow writing, or choose another folder"
    if isinstance(error, FileNotFoundError):
        remedy = "was its folder moved or removed? Name the folder where it is now"
    if isinstance(error, IsADirectoryError):
        remedy = f"move that folder away, or {remedy}"
    return NotWritten(
        f"cannot write {path} ({error.strerror or error}): {remedy}, and run the same "
        "command again; nothing that was finished is lost"
    )


def check_unpacked(path: Path) -> None:
    """Raise InputError for a zip file, such as a .npz, that unpacks to far more than its size.

    Files of other formats, and damaged ones, pass: their reader says what is wrong with
    them.
    """
    if is_special(path):
        raise InputError(f"{path} is a device or a pipe: give a file")
    size = 0
    with suppress(Exception), ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    # Deflate packs zeros a thousandfold.
    if size > 2**26 and size > 200 * path.stat().st_size:
        raise InputError(
            f"{path} would unpack to {size} bytes: write it without compression"
        )


def sha256(content: bytes | str) -> str:
    """Return the SHA-256 hash of bytes, or of a text in UTF-8, in hexadecimal digits."""
    if isinstance(content, str):
        content = content.encode()
    return hashlib.sha256(content).hexdigest()


def hashed(content: bytes) -> bytes:
    """Return a JSON object with its SHA-256 as its last entry.

    >>> unhashed(hashed(b'{"seed": 0}'))
    b'{"seed": 0}'
    """
    return content[:-1] + f', "sha256": "{sha256(content)}"}}'.encode()


def unhashed(content: bytes) -> bytes:
    """Undo `hashed`; raises ValueError unless every byte is still the same."""
    # The bytes themselves are hashed: to read and write the JSON again takes many times
    # as long.
    body = content[:-_HASH_LENGTH] + b"}"
    if hashed(body) != content:
        raise ValueError("the content does not match its hash")
    return body


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
    """Check that a table, which may have been compressed since, is the recorded one.

    Args:
        path: The file of the table.

    Raises:
        InputError: The table has changed since it was written.
        OSError: The file cannot be read.
    """
    content = content_of(path)
    name = path.name.removesuffix(".gz")
    recorded = recorded_hashes(path.parent).get(name)
    if recorded and name != path.name:
        content = gzip.decompress(content)
    if recorded and sha256(content) != recorded:
        raise InputError(
            f"{path} is not as it was written (edited? cut off?): "
            "start its `probe run`, or the call that made it, again"
        )


_HASH_LENGTH = len(', "sha256": ""}') + 64
_UNFINISHED = ".tmp"
