"""Files that are written completely or not at all, with hashes that show later changes."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from probe.errors import NotWritten


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; after the block it replaces `path`.

    A failure, or the end of the process, leaves `path` unchanged. Raises NotWritten if the file
    cannot be written.
    """
    partial = unfinished(path)
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        discard(partial)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, all of it or nothing; raises NotWritten."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def unfinished(path: Path) -> Path:
    """Return a unique name beside `path` for a file that is not finished yet."""
    return path.with_name(f"{path.name}.{uuid4().hex[:8]}{_UNFINISHED}")


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed processes; no other process may write to the folder now.

    Only files named by `unfinished` are removed, as a user's file may have the same ending.
    """
    for path in folder.glob(f"*.{'[0-9a-f]' * 8}{_UNFINISHED}"):
        discard(path)


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
    return NotWritten(
        f"cannot write {path} ({error.strerror or error}): {remedy}, and run the same command "
        f"again; nothing that was finished is lost"
    )


def hashed(content: bytes) -> bytes:
    """Return a JSON object with its SHA-256 as its last entry.

    >>> unhashed(hashed(b'{"seed": 0}'))
    b'{"seed": 0}'
    """
    return content[:-1] + f', "sha256": "{hashlib.sha256(content).hexdigest()}"}}'.encode()


def unhashed(content: bytes) -> bytes:
    """Undo `hashed`; raises ValueError unless every byte is still the same."""
    # The bytes themselves are hashed: to read and write the JSON again takes many times as long.
    body = content[:-_HASH_LENGTH] + b"}"
    if hashed(body) != content:
        raise ValueError("the content does not match its hash")
    return body


_HASH_LENGTH = len(', "sha256": ""}') + 64
_UNFINISHED = ".tmp"
