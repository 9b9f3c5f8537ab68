"""`probe model` killed at random moments: the same tables, and nothing finished is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import alive, exit_code, fork
from tests.scenarios.own_run import Own, metrics, results, tables

pytestmark = pytest.mark.slow

KILLS = 20


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Own, Path, float]:
    """Checkpoints, the run directory of an undisturbed analysis, and how many seconds it took."""
    own = Own(tmp_path_factory.mktemp("studied")).written()
    own.keep(own.run())
    own.model("once")
    start = time.monotonic()
    root = own.model("whole")
    return own, root, time.monotonic() - start


def finished(root: Path) -> dict[str, tuple[int, int]]:
    """Return every finished part, with what changes when it is written again."""
    if not (root / "jobs").is_dir():
        return {}
    each = {name: state for name, state in results(root).items() if name.endswith(".json")}
    return {name: (inode, changed) for name, (inode, changed, _) in each.items()}


def test_killed_at_random_moments_it_ends_in_the_same_tables(
    studied: tuple[Own, Path, float],
) -> None:
    own, whole, seconds = studied
    draw, kills, root = random.Random(0), 0, own.folder / "killed"
    before: dict[str, tuple[int, int]] = {}
    while kills < KILLS:
        process = fork(lambda: own.model("killed") is not None)
        # Often soon after its beginning: only then is there work left for twenty kills.
        time.sleep(seconds * draw.choice([draw.uniform(0, 0.2), draw.uniform(0, 1)]))
        if alive(process):
            os.kill(process, signal.SIGKILL)
        kills += exit_code(process) == -signal.SIGKILL
        now = finished(root)
        assert {name: now.get(name) for name in before} == before
        if len(now) == len(finished(whole)):
            # All of it is there: begin anew, as what is finished cannot be interrupted.
            root.rename(root.with_name(f"killed-{len(list(own.folder.glob('killed-*')))}"))
            now = {}
        before = now
    own.model("killed")
    ends = [root, *own.folder.glob("killed-*")]
    for root in ends:
        own.model(root.name)
        assert tables(root) == tables(whole)
        assert metrics(root) == metrics(whole)
        assert {name.split("/")[0] for name in finished(root)} == {
            name.split("/")[0] for name in finished(whole)
        }
        assert finished(root).keys() == finished(whole).keys()
        assert not list(root.rglob("*.tmp"))
        assert not (root / "quarantine").exists()
        assert not (root / "scratch").exists()
