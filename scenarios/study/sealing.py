"""JSON that carries a hash of itself, and a run directory that no link leads out of."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from probe.files import refuse_link
from probe.regular import regular_file

_SEAL = re.compile(rb', "sha256": "([0-9a-f]{64})"\}')
_LARGEST = 2**30  # bytes: far above what a result can have
_LENGTH = len(', "sha256": ""}') + 64


def sealed(content: bytes) -> bytes:
    """Return a JSON object with the SHA-256 of what it was as its last entry.

    >>> sealed(b'{"a": 1}')[:20]
    b'{"a": 1, "sha256": "'
    >>> opened(sealed(b'{"a": 1}')) == sealed(b'{"a": 1}')
    True
    """
    return content[:-1] + f', "sha256": "{hashlib.sha256(content).hexdigest()}"}}'.encode()


def opened(content: bytes) -> bytes:
    """Return what `sealed` gave, if every byte is still the same; raises ValueError if not."""
    seal = _SEAL.fullmatch(content[-_LENGTH:])
    # The bytes themselves are hashed: to read them and write them again would take many times as
    # long, and a study has ten thousands of such files.
    body = hashlib.sha256(content[:-_LENGTH] + b"}").hexdigest().encode()
    if seal is None or seal[1] != body:
        raise ValueError("the content does not match its hash")
    return content


def read_sealed(path: Path) -> bytes:
    """Return the bytes of a file that `sealed` gave; raises ValueError for others, and OSError."""
    with regular_file(path, links=False) as file:
        # Whatever else it is, however large, is not read.
        size = os.fstat(file.fileno()).st_size
        if size > _LARGEST:
            raise ValueError("it is larger than any that was written")
        file.seek(-min(_LENGTH, size), os.SEEK_END)
        if not _SEAL.fullmatch(file.read()):
            raise ValueError("it does not end with a hash")
        file.seek(0)
        return opened(file.read())


def refuse_links(root: Path) -> None:
    """Raise NotWritten if something in a run directory would be found or written outside it."""
    for folder in (*(root / name for name in _FOLDERS), *(root / "jobs").glob("*")):
        refuse_link(folder)


_FOLDERS = ("jobs", "locks", "quarantine", "failures", "figures", "scratch")
