"""Files that are no files: a pipe that nobody writes to, a device without an end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from probe.regular import regular_file

from tests.bad_input.making import TINY
from tests.bad_input.runs import TABLES

ZERO = Path("/dev/zero")


@pytest.fixture(params=["pipe", "zero"])
def lay(request):
    """Return a function that lays a pipe, or a link to zeros without an end, where it is told."""

    def lay(path: Path) -> Path:
        path.unlink(missing_ok=True)
        if request.param == "pipe":
            os.mkfifo(path)
        elif ZERO.is_char_device():
            path.symlink_to(ZERO)
        else:
            pytest.skip("no such device here")
        return path

    return lay


def test_what_is_no_regular_file_is_refused_at_once(lay, tmp_path):
    with pytest.raises(OSError, match="not a regular file"), regular_file(lay(tmp_path / "x")):
        pass
    with pytest.raises(IsADirectoryError), regular_file(tmp_path):
        pass


def test_a_regular_file_is_read_also_through_a_link_and_closed(tmp_path):
    (tmp_path / "real").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    before = len(os.listdir("/dev/fd"))
    with regular_file(tmp_path / "link") as file:
        assert file.read() == b"text"
    assert len(os.listdir("/dev/fd")) == before


def test_a_study_is_read_from_no_pipe_and_no_device(lay, probe, tmp_path):
    lay(tmp_path / "x.toml")
    start = time.monotonic()
    code, out, err = probe("run x.toml")
    assert (code, out) == (2, "")
    assert err == (
        "error: cannot read the study x.toml (not a regular file): give the path of a TOML file, "
        "or a preset of `probe list`\n"
    )
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_read_from_no_pipe_and_no_device(lay, probe, tmp_path, table):
    for name, content in TABLES.items():
        (tmp_path / name).write_text(content)
    lay(tmp_path / table)
    code, out, err = probe("figures .")
    assert (code, out) == (2, "")
    assert err == f"error: {table} cannot be read (not a regular file): run the study first\n"


def test_a_study_through_a_link_is_read(probe, tmp_path):
    (tmp_path / "real").write_text(TINY)
    (tmp_path / "x.toml").symlink_to(tmp_path / "real")
    code, _, err = probe("run x.toml --seeds 0")
    assert (code, "seeds: expected 1 or more, got 0" in err) == (2, True)
