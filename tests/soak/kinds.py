"""The kinds of kills: each starts processes, kills some at random moments and lets others end."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scenarios.options import RunOptions
from tests.soak.driver import Driver, real, warm
from tests.soak.laws import Broken

INLINE = RunOptions(executor="inline")
POOL = RunOptions(executor="pool", workers=2)

Start = Callable[[Path, RunOptions], Driver]


@dataclass(frozen=True)
class Place:
    """Where a study is run; lengths: seconds that it takes undisturbed, by how it is started."""

    study: Path
    root: Path
    chance: random.Random
    lengths: dict[tuple[str, str | None], float]

    def start(self, options: RunOptions, by: Start = warm) -> Driver:
        return by(self.study, replace(options, out=self.root))

    def kill(self, kill: Callable[[], bool], options: RunOptions, by: Start = warm) -> bool:
        """Kill after anything up to a bit more than the study takes; return whether that hit.

        How long it takes is learned on the way: a machine that has much else to do is slow.
        """
        way = by.__name__, options.executor
        time.sleep(self.chance.uniform(0.0, 1.1 * self.lengths[way]))
        hit = kill()
        self.lengths[way] *= 1.1 if hit else 0.7
        return hit


def finish(*drivers: Driver) -> None:
    """Wait for processes that nobody kills; raises Broken if one does not succeed."""
    for driver in drivers:
        if driver.wait() != 0:
            raise Broken(f"a process that was not killed ended with exit code {driver.code}")


def of_one(options: RunOptions, by: Start, group: bool) -> Callable[[Place], Iterator[bool]]:
    """Return a kind: three times the process, or its group, then it is left alone."""

    def kill(place: Place) -> Iterator[bool]:
        for _ in range(3):
            driver = place.start(options, by)
            hit = place.kill(partial(driver.kill, group), options, by)
            yield hit
            if not hit:
                break
        finish(place.start(options, by))

    return kill


def of_workers(place: Place) -> Iterator[bool]:
    """Two workers of a pool, one after the other; the study goes on by itself."""
    driver = place.start(POOL)
    for _ in range(2):
        time.sleep(place.chance.uniform(0.0, 0.5 * place.lengths["warm", "pool"]))
        workers = driver.workers()
        with suppress(OSError):
            if workers:
                os.kill(place.chance.choice(workers), signal.SIGKILL)
        yield bool(workers)
    finish(driver)


def of_several(shards: list[RunOptions]) -> Callable[[Place], Iterator[bool]]:
    """Return a kind: of processes on one run directory one is killed and started again, thrice."""

    def kill(place: Place) -> Iterator[bool]:
        drivers = [place.start(each) for each in shards]
        for _ in range(3):
            victim = place.chance.randrange(len(shards))
            hit = place.kill(drivers[victim].kill, INLINE)
            yield hit
            if not hit:
                break
            drivers[victim] = place.start(shards[victim])
        finish(*drivers)

    return kill


KINDS: dict[str, Callable[[Place], Iterator[bool]]] = {
    "the only process": of_one(INLINE, warm, group=False),
    "the only process, as typed": of_one(INLINE, real, group=False),
    "a pool's parent": of_one(POOL, warm, group=False),
    "a pool's worker": of_workers,
    "parent and workers, as typed": of_one(POOL, real, group=True),
    "one of two on one directory": of_several([INLINE, INLINE]),
    "one of three shards": of_several(
        [RunOptions(executor="inline", shard=f"{k}/3") for k in (1, 2, 3)]
    ),
}
