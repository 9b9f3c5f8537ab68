"""What every bad input must end in."""


def assert_refused(called, expected):
    """Check that a call gave exit code 2 and one sentence with all that is expected in it."""
    code, out, err = called
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for said in expected:
        assert said in err


def contents(folder):
    """Return every path below a folder with its bytes."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
