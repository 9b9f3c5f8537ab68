"""Printing that is safe for the terminal, in any encoding, with or without a reader.

Names of learners, files and tasks come from untrusted files, so they are made
`printable` before they are shown. All commands run inside `printed`.
"""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from probe.answers.plain import plain
from probe.errors import printable

READER_GONE = (
    141  # exit code of a process whose reader is gone, as if SIGPIPE had ended it
)


def show_line(text: str) -> None:
    """Print a text on one line, made `printable`; a path or name in it can be copied."""
    print(printable(text))


@contextmanager
def printed() -> Iterator[None]:
    """Make it safe to print any characters within the block, and flush them at its end.

    Characters that the encoding of standard output lacks are written as their escapes.
    Raises BrokenPipeError if the pipe was closed (`probe list | head -1`), and another
    OSError if the disk is full; the rest of the output is then discarded, as Python
    would try again when the process ends, complain, and change the exit code.
    """
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    try:
        yield
        # None if the process was started without standard output.
        if out:
            out.flush()
    finally:
        _flush_or_discard(out)
        _flush_or_discard(sys.stderr)


def as_json(record: object) -> str:
    """Return one JSON object as text, with null in place of NaN and Inf.

    Args:
        record: The object, as JSON values.
    """
    return json.dumps(plain(record), indent=2)


def print_json(record: object) -> None:
    """Print one JSON object, see `as_json`."""
    print(as_json(record))


def say(sentence: str) -> None:
    """Print a sentence on standard error, if possible: a failure here must not hide the error."""
    try:
        if sys.stderr:
            print(sentence, file=sys.stderr, flush=True)
    except OSError:
        _flush_or_discard(sys.stderr)


def _flush_or_discard(stream: TextIO) -> None:
    """Write the rest of a stream, or discard it with all that follows if that fails."""
    try:
        if stream:
            stream.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:
            # The descriptor, not the object: libraries bypass Python to write to it.
            os.dup2(nowhere.fileno(), stream.fileno())
