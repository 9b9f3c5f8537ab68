"""Making the file of a lock: who was told that it is there already may have made it all the same.

On a network's file system the answer to a request can be lost: it is made a second time then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from scenarios.execution.claims import Claims, Held

from scenarios.execution import lock_file
from tests.scenarios.execution.forked import is_free, lock_of
from tests.scenarios.execution.turns import Turns, orders


@pytest.fixture
def answers_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every link be asked for twice: who makes it is told that it is there already."""
    link = os.link

    def twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)


@pytest.mark.usefixtures("answers_lost")
def test_whose_answer_was_lost_has_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "it.1.lock"
    assert lock_file.make(path)
    assert json.loads(path.read_bytes())["process"] == os.getpid()
    assert list(tmp_path.iterdir()) == [path]
    claims = Claims(tmp_path)
    with pytest.raises(Held), claims.held("it"):
        pass
    path.unlink()
    with claims.held("it") as check:
        check()
        assert not is_free(claims)
    assert is_free(claims)


@pytest.mark.parametrize("lost", [False, True])
def test_who_comes_second_has_it_not(
    tmp_path: Path, request: pytest.FixtureRequest, lost: bool
) -> None:
    if lost:
        request.getfixturevalue("answers_lost")
    path = lock_of(tmp_path, "it", os.getppid())
    before = path.read_bytes()
    assert not lock_file.make(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_threads_one_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of them waits, before and after whatever it does to the disk."""
    current: list[Turns] = []

    def stepwise(function: Callable) -> Callable:
        def stepped(*arguments: object, **settings: object) -> object:
            current[-1].step()
            try:
                return function(*arguments, **settings)
            finally:
                current[-1].step()

        return stepped

    for owner, name in ((Path, "open"), (Path, "unlink"), (os, "link")):
        monkeypatch.setattr(owner, name, stepwise(getattr(owner, name)))
    for k, choose in enumerate(orders(switches=2)):
        current.append(Turns(choose))
        path = tmp_path / f"it.{k + 1}.lock"
        made: list[bool] = []

        def make(path: Path = path, made: list[bool] = made) -> None:
            made.append(lock_file.make(path))

        current[-1].run([make, make])
        assert (sorted(made), current[-1].errors) == ([False, True], [])
    assert len(current) > 50
    assert {path.suffix for path in tmp_path.iterdir()} == {".lock"}


@pytest.mark.parametrize("link", [False, True])
def test_what_a_killed_one_of_the_same_name_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: bool
) -> None:
    """Numbers of processes are used again: it is in nobody's way, and not written through."""
    path, victim = tmp_path / "it.1.lock", tmp_path / "victim"
    victim.write_text("of somebody")

    def killed(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", killed)
        patch.setattr(lock_file, "discard", lambda path: None)
        with pytest.raises(KeyboardInterrupt):
            lock_file.make(path)
    [left] = tmp_path.glob("*.tmp")
    if link:
        left.unlink()
        left.symlink_to(victim)
    assert lock_file.make(path)
    assert lock_file.is_own(path)
    assert victim.read_text() == "of somebody"
    assert set(tmp_path.iterdir()) == {path, victim}
