"""Kinds of kills: each starts processes on a run directory and kills -9 some at random moments."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scenarios.execution.helpers import TINY, fork, run, tables, workers_of
from tests.soak.laws import Broken, Witness

POOL = {"executor": "pool", "workers": 2}


class Driver:
    """A process that runs the study, the leader of a group: a fork of this one, or as typed."""

    def __init__(self, root: Path, typed: bool = False, **flags: Any) -> None:
        self._code: int | None = None
        self.process = fork(lambda: self._run(root, typed, flags))

    def _run(self, root: Path, typed: bool, flags: dict[str, Any]) -> object:
        os.setsid()
        for output in (1, 2):
            os.dup2(os.open(f"{root}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), output)
        study = root.with_name("study.toml")
        if typed:
            words = [f"--{name}={value}" for name, value in {"out": root, **flags}.items()]
            os.execv(sys.executable, [sys.executable, "-m", "scenarios", "run", str(study), *words])
        return run(root, study, **flags)

    def wait(self) -> int:
        """Wait for its end and return its exit code, negative if it was killed."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return self._code

    def kill(self, group: bool) -> bool:
        """Kill it, or its group; return whether it had not ended before."""
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.process, signal.SIGKILL)
        return self.wait() == -signal.SIGKILL


@dataclass
class Campaign:
    """Kills of many kinds, each in run directories of its own, which a witness looks at.

    folder: for all of them; lengths: seconds that the study takes, by how it is started.
    """

    folder: Path
    seed: int
    kills: int = 0
    runs: int = 0
    files: int = 0
    broken: list[str] = field(default_factory=list)
    lengths: dict[tuple[bool, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Long enough that kills hit every part of it.
        toml = TINY.read_text().replace("epochs = 1", "epochs = 20")
        (self.folder / "study.toml").write_text(toml)
        self.whole = self.folder / "whole"
        # The first is slowed down by what is read for the first time.
        for _ in range(2):
            shutil.rmtree(self.whole, ignore_errors=True)
            start = time.monotonic()
            finish(Driver(self.whole))
            self.lengths[False, "inline"] = time.monotonic() - start
        self.expected = tables(self.whole)

    def carry_out(self, kind: str, wanted: int, until: float) -> None:
        """Kill until it was done as often as wanted, or the clock says `until`."""
        wanted += self.kills
        while self.kills < wanted and time.monotonic() < until:
            self.runs += 1
            root = self.folder / f"run-{self.runs}"
            witness = Witness(root, self.expected)
            try:
                for killed in KINDS[kind](self, root, random.Random(f"{self.seed} {self.runs}")):
                    self.kills += killed
                    witness.look()
                witness.end()
                shutil.rmtree(root)
            except Broken as error:
                self.broken.append(f"{root}: {error}")
            self.files += witness.files

    def kill(
        self, driver: Driver, chance: random.Random, group: bool = False, typed: bool = False,
        executor: str = "inline", **_: object,
    ) -> bool:  # fmt: skip
        """Kill after anything up to a bit more than the study takes; return whether that hit.

        How long it takes is learned on the way: a machine that has much else to do is slow.
        """
        way = typed, executor
        length = self.lengths.setdefault(way, self.lengths[False, "inline"] + 5)
        time.sleep(chance.uniform(0.0, 1.1 * length))
        hit = driver.kill(group)
        self.lengths[way] = length * (1.1 if hit else 0.7)
        return hit


Kind = Callable[[Campaign, Path, random.Random], Iterator[bool]]


def finish(*drivers: Driver) -> None:
    """Wait for processes that nobody kills; raises Broken if one does not succeed."""
    for driver in drivers:
        if driver.wait() != 0:
            raise Broken(f"a process that was not killed ended with exit code {driver.wait()}")


def of_some(*starts: dict[str, Any], group: bool = False) -> Kind:
    """Return a kind: of processes on one run directory one is killed and started again, thrice."""

    def kill(campaign: Campaign, root: Path, chance: random.Random) -> Iterator[bool]:
        drivers = [Driver(root, **start) for start in starts]
        for _ in range(3):
            victim = chance.randrange(len(starts))
            yield campaign.kill(drivers[victim], chance, group, **starts[victim])
            drivers[victim] = Driver(root, **starts[victim])
        finish(*drivers)

    return kill


def of_workers(campaign: Campaign, root: Path, chance: random.Random) -> Iterator[bool]:
    """Two workers of a pool, one after the other; the study goes on by itself."""
    driver = Driver(root, **POOL)
    for _ in range(2):
        time.sleep(chance.uniform(0.0, campaign.lengths[False, "inline"]))
        workers = workers_of(driver.process)
        with suppress(OSError):
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
        yield bool(workers)
    finish(driver)


KINDS: dict[str, Kind] = {
    "the only process": of_some({}),
    "the only process, as typed": of_some({"typed": True, "executor": "inline"}),
    "a pool's parent": of_some(POOL),
    "a pool's worker": of_workers,
    "parent and workers, as typed": of_some({"typed": True, **POOL}, group=True),
    "one of two on one directory": of_some({}, {}),
    "one of three shards": of_some(*({"shard": f"{k}/3"} for k in (1, 2, 3))),
}
