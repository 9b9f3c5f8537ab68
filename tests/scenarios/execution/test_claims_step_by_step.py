"""Every order in which claimants can come between each other: never two hold a lock."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from probe.processes import birth, machine
from scenarios.execution.claims import Claims, Held, Lost
from scenarios.execution.lock_file import Lock

from scenarios.execution import claims as module
from scenarios.execution import lock_file
from tests.scenarios.execution.forked import a_dead_process, lock_of
from tests.scenarios.execution.turns import Turns, orders

Choose = Callable[[Sequence[int], int], int]


class Scene:
    """Claimants of one lock; inside: who holds it now; entered: how often somebody did."""

    def __init__(self, folder: Path, kind: type[Claims] = Claims) -> None:
        self.claims = kind(folder)
        self.turns = Turns(lambda ready, last: ready[0])
        self.inside: set[int | None] = set()
        self.entered = 0
        self.met = False

    def claim(self) -> None:
        try:
            with self.claims.held("it") as check:
                self.inside.add(self.turns.own)
                self.entered += 1
                self.met |= len(self.inside) > 1
                try:
                    self.turns.step()
                    check()
                finally:
                    self.inside.remove(self.turns.own)
        except (Held, Lost):
            pass

    def claim_twice(self) -> None:
        self.claim()
        self.claim()

    def forget(self) -> None:
        self.claims.forget()


class Hasty(Claims):
    """Does not look again after it has made its file."""

    def _take(self, name: str, stale: Lock | None) -> int:
        last = max(self._numbers(name), default=0)
        there = self._read(name, last)
        if (there and not there.dead) or not self._make(self._path(name, last + 1)):
            raise Held(there or lock_file.unknown(name, last))
        if there:
            module.discard(self._path(name, last))
        return last + 1


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scene]:
    """Return a maker of scenes in which every look at the disk and every change is a step."""
    current: list[Scene] = []

    def stepwise(function: Callable) -> Callable:
        def stepped(*arguments: object) -> object:
            current[-1].turns.step()
            return function(*arguments)

        return stepped

    def own() -> bytes:
        # Called between making a file and writing to it.
        current[-1].turns.step()
        said = {"host": str(current[-1].turns.own), "machine": machine(), "process": os.getpid()}
        return json.dumps({**said, "birth": birth(os.getpid())}).encode()

    monkeypatch.setattr(lock_file, "_own", own)
    monkeypatch.setattr(module.os, "listdir", stepwise(os.listdir))
    for name in ("make", "read", "give_back"):
        monkeypatch.setattr(lock_file, name, stepwise(getattr(lock_file, name)))
    monkeypatch.setattr(module, "discard", stepwise(module.discard))

    def made(state: str, kind: type[Claims] = Claims) -> Scene:
        folder = tmp_path / "locks"
        shutil.rmtree(folder, ignore_errors=True)
        current.append(Scene(folder, kind))
        if state == "dead":
            lock_of(folder, "it", a_dead_process())
        return current[-1]

    return made


def played(scene: Scene, actions: Sequence[str], choose: Choose) -> Scene:
    scene.turns = Turns(choose)
    scene.turns.run([getattr(scene, action) for action in actions])
    if scene.turns.errors:
        raise scene.turns.errors[0]
    return scene


CASTS = [
    ("nothing", ("claim", "claim"), 2),
    ("dead", ("claim", "claim"), 2),
    ("dead", ("claim_twice", "claim"), 2),
    ("dead", ("claim", "claim", "forget"), 1),
]


@pytest.mark.parametrize(("state", "cast", "switches"), CASTS)
def test_every_order_of_few_interruptions(
    scene: Callable[..., Scene], state: str, cast: tuple[str, ...], switches: int
) -> None:
    seen = 0
    for choose in orders(switches):
        done = played(scene(state), cast, choose)
        assert not done.met
        # Somebody enters; who meets one that forgets has to try again.
        assert done.entered >= ("forget" not in cast)
        seen += 1
    assert seen > 50


@pytest.mark.parametrize("seed", range(3))
def test_random_orders(scene: Callable[..., Scene], seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        state = chance.choice(["nothing", "dead"])
        cast = chance.choices(["claim", "claim_twice", "forget"], k=4)
        done = played(scene(state), cast, lambda ready, last: chance.choice(ready))
        assert not done.met


def test_a_second_look_is_needed(scene: Callable[..., Scene]) -> None:
    """Numbers begin anew when a lock was given back: the first look alone is not enough."""
    assert any(
        played(scene("dead", Hasty), ("claim", "claim", "claim"), choose).met
        for choose in orders(switches=2)
    )


def test_only_one_may_make_a_file(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(path: Path) -> bool:
        path.write_bytes(lock_file._own())
        return True

    monkeypatch.setattr(lock_file, "make", make)
    assert any(
        played(scene("nothing"), ("claim", "claim"), choose).met for choose in orders(switches=2)
    )
