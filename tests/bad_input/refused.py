"""What every bad input must end in."""

from pathlib import Path


def assert_refused(called: tuple[int, str, str], *named: str) -> None:
    """Check that a call gave exit code 2 and one sentence that names the offending values."""
    code, out, err = called
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for value in named:
        assert value in err


def contents(folder: Path) -> dict[Path, bytes | None]:
    """Return every path below a folder with its bytes."""
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def last_changes(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return every path below a folder with its size and the time of its last change."""
    states = {path: path.stat() for path in folder.rglob("*")}
    return {path: (found.st_size, found.st_mtime_ns) for path, found in states.items()}
