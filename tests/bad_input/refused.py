"""What every bad input must end in, and tables of mistakes that are alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path


def assert_refused(called: tuple[int, str, str], expected: Iterable[str]) -> None:
    """Check that a call gave exit code 2 and one sentence with all that is expected in it."""
    code, out, err = called
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for said in expected:
        assert said in err


def contents(folder: Path) -> dict[Path, bytes | None]:
    """Return every path below a folder with its bytes."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def last_changes(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return every path below a folder with its size and the time of its last change."""
    states = {path: path.stat() for path in folder.rglob("*")}
    return {path: (found.st_size, found.st_mtime_ns) for path, found in states.items()}


def each(line: str, sentence: str, *values: str) -> dict[str, str]:
    """Return the same mistake with several values; {} stands for the value in line and sentence."""
    return {line.format(shlex.quote(value)): sentence.format(value) for value in values}


def several(line: str, sentences: Mapping[str, str]) -> dict[str, str]:
    """Return mistakes by what {} stands for in the line, each with its own sentence."""
    return {line.format(value): sentence for value, sentence in sentences.items()}


def grouped(line: str, groups: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return the mistakes of files that are listed by what the sentence says after their name."""
    return {
        line.format(name.partition("/")[0]): f"{name.partition('/')[0]}...{sentence}"
        for sentence, files in groups.items()
        for name in files
    }
