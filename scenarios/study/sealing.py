"""JSON that carries a hash of itself, and files read without following a link."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

_SEAL = re.compile(rb', "sha256": "([0-9a-f]{64})"\}')
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


def read_plain(path: Path) -> bytes:
    """Return the bytes of a file; raises OSError for a link, and for what is no file."""
    handle = os.open(path, os.O_RDONLY | _PLAIN)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is no file")
        return file.read()


# Where there are such flags: a link is refused, and a pipe does not keep its reader waiting.
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
