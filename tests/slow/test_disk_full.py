"""A disk that is full or read-only: one sentence, nothing lost, and the same command goes on."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from figures.build import build
from probe.errors import NotWritten
from scenarios.commands.status import show_status
from tests.bad_input.refused import contents
from tests.scenarios.execution.helpers import run, tables
from tests.slow.helpers import JOB, tmpfs

pytestmark = pytest.mark.slow

FULL = r"cannot (write|set|keep values in) .*\(No space left on device\).*make room"


@pytest.mark.parametrize("step", ["fsync", "posix_fallocate"])
def test_every_write_fails_in_turn(tmp_path, finished, monkeypatch, step):
    """The 1st, 2nd ... 16th call fails in turn."""
    true = getattr(os, step)
    out = tmp_path / "run"
    failures = 0
    left = [1]

    def call(*arguments):
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        true(*arguments)

    monkeypatch.setattr(os, step, call)
    while True:
        left[0] = 1 + failures % 16
        try:
            assert run(out, cache_budget="0MB")
            break
        except NotWritten as error:
            said = str(error)
        failures += 1
        assert (
            "nothing that was finished is lost" in said or "cannot keep values" in said
        )
        assert not list(tmp_path.rglob("*.tmp"))
        assert failures < 100
    assert failures > 4
    assert tables(out) == tables(finished)


def test_a_finished_study_on_a_full_and_on_a_read_only_disk(tmp_path, finished, probe):
    """It can be looked at; figures, and a corrupt result, wait until there is room for them."""
    with tmpfs(tmp_path / "disk", "size=9m,nr_inodes=1k") as remount:
        out = Path(shutil.copytree(finished, tmp_path / "disk" / "run"))
        disk = os.statvfs(out)
        filler = out.parent / "filler"
        filler.write_bytes(bytes(disk.f_bavail * disk.f_frsize - 20_000))
        code, _, error = probe(f"figures {out}")
        assert (code, error.count("\n")) == (2, 1)
        assert error.startswith(f"error: cannot write {out}/figures")
        assert not list(out.rglob("*.tmp"))
        filler.unlink()
        remount("ro")
        before = contents(out)
        show_status(out)
        with pytest.raises(NotWritten, match=r"figures.* \(Read-only file system\)"):
            build(out)
        with pytest.raises(
            NotWritten, match=r"cannot write .* \(Read-only file system\)"
        ):
            run(out)
        assert contents(out) == before
        remount("rw")
        [victim] = out.glob(f"jobs/{JOB}/*/predictions.npz")
        victim.write_bytes(b"spoiled")
        remount(f"nr_inodes={sum(1 for _ in out.parent.rglob('*')) + 1}")
        with pytest.raises(NotWritten, match=FULL):
            run(out)
        assert victim.read_bytes() == b"spoiled"
        remount("nr_inodes=1k")
        assert run(out)
        [kept] = (out / "quarantine").glob(f"{JOB}*.predictions.npz")
        assert kept.read_bytes() == b"spoiled"
        assert tables(out) == tables(finished)
