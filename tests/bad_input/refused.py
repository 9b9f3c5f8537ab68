"""What every bad input must end in."""


def assert_refused(called, *named):
    """Check that a call gave exit code 2 and one sentence that names the offending values."""
    code, out, err = called
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for value in named:
        assert value in err


def contents(folder):
    """Return every path below a folder with its bytes."""
    found = {}
    for path in folder.rglob("*"):
        found[path] = None
        if path.is_file():
            found[path] = path.read_bytes()
    return found


def last_changes(folder):
    """Return every path below a folder with its size and the time of its last change."""
    states = {path: path.stat() for path in folder.rglob("*")}
    return {path: (found.st_size, found.st_mtime_ns) for path, found in states.items()}
