"""What is printed, whichever characters its encoding has, and whether or not anybody reads it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

READER_GONE = 141
"""Exit code of a process whose output nobody reads any more: as if SIGPIPE had ended it."""


@contextmanager
def printed() -> Iterator[None]:
    """Print within the block whatever the characters, and all of it by the end of the block.

    A character that the encoding of standard output lacks is written as its escape, which is how
    Python writes to standard error. Raises BrokenPipeError if the reader is gone (`probe list |
    head -1`), and another OSError if there is no room. What could not be written is thrown away:
    Python would try again when the process ends, complain, and change the exit code.
    """
    out = sys.stdout
    errors = out.errors if isinstance(out, io.TextIOWrapper) else None
    _escape(out, "backslashreplace")
    try:
        yield
        # None if the process was started without.
        if out:
            out.flush()
    finally:
        _settle(out)
        _settle(sys.stderr)
        _escape(out, errors)


def say(sentence: str) -> None:
    """Print a sentence on standard error, if that can be done."""
    try:
        if sys.stderr:
            print(sentence, file=sys.stderr, flush=True)
    except OSError:
        _settle(sys.stderr)


def _escape(stream: TextIO, errors: str | None) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)


def _settle(stream: TextIO) -> None:
    """Write what a stream still holds, or throw it away and all that follows."""
    try:
        if stream:
            stream.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
