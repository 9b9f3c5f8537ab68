"""Who does what in a folder that several processes share: lock files with a lease."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from probe.errors import NotWritten
from probe.files import discard, not_written, sweep
from scenarios.execution import lock_file
from scenarios.execution.lock_file import Lock, unknown

LEASE = 60.0
"""Seconds after which a lock that its holder has not renewed is no longer respected."""


class Held(Exception):
    """Another process holds the lock."""

    def __init__(self, lock: Lock) -> None:
        super().__init__(f"{lock.name} is held by {lock.holder}")
        self.lock = lock


class Lost(Exception):
    """This process held a lock, was not heard of for a lease, and another has taken over."""


class Claims:
    """The locks of a folder.

    A lock is a file `NAME.NUMBER.lock` that names its holder, who removes it when he is done and
    renews its time until then. Whoever takes over from one that is dead or stale makes the file of
    the next number, which only one process can: so two never hold the same, and one that was
    stopped for long finds out. Nobody compares a file's time with a clock, as clocks jump and
    differ: who waits sees whether it changes, see `Watch`. Of its own machine everybody sees at
    once whether a holder still runs.
    """

    def __init__(self, folder: Path, lease: float = LEASE) -> None:
        self._folder = folder
        self._lease = lease

    @contextmanager
    def held(self, name: str, stale: Lock | None = None) -> Iterator[Callable[[], None]]:
        """Hold a lock within the block, renewing it; yields a check that raises Lost.

        stale: how a lock looks that need not be respected. Raises Held if another process has it,
        NotWritten if the folder cannot be written to.
        """
        number = self._take(name, stale)
        done = threading.Event()
        path = self._path(name, number)
        try:
            threading.Thread(target=self._renew, args=(path, done), daemon=True).start()
            yield lambda: self._check(name, number)
        finally:
            done.set()
            lock_file.give_back(path)

    @contextmanager
    def awaited(self, name: str) -> Iterator[Callable[[], None]]:
        """Hold a lock within the block, as `held`, after waiting for it as long as it takes."""
        watch, stale = Watch(self._lease), None
        while True:
            try:
                with self.held(name, stale) as check:
                    yield check
                return
            except Held as error:
                stale = error.lock if watch.stale(error.lock) else None
                time.sleep(min(0.2, self._lease / 10))

    def seen(self, name: str) -> Lock | None:
        """Return who holds a lock, or held it when he was killed; None if nobody does."""
        return _holding(self._read_all(name, self._numbers(name)))

    def all_seen(self) -> list[Lock]:
        """Return all locks that somebody holds, or held when he was killed; by name."""
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for name, number in self._listed():
            numbers[name].add(number)
        locks = (_holding(self._read_all(name, numbers[name])) for name in sorted(numbers))
        return [lock for lock in locks if lock]

    def forget(self) -> None:
        """Remove what is left of locks whose holders were killed."""
        for lock in self.all_seen():
            # Held meanwhile; what does not work is left for another time.
            with suppress(Held, NotWritten):
                lock_file.give_back(self._path(lock.name, self._take(lock.name, None)))
        sweep(self._folder)
        with suppress(OSError):
            self._folder.rmdir()

    def _take(self, name: str, stale: Lock | None) -> int:
        """Make the next file of a lock, remove those it takes over from; return its number."""
        before = self._numbers(name)
        there = self._read_all(name, before)
        lock = _holding([lock for lock in there if lock != stale])
        if lock and not lock.dead:
            raise Held(lock)
        own = max(before, default=0) + 1
        if not self._make(self._path(name, own)):
            raise Held(self.seen(name) or unknown(name, own))
        # Numbers begin anew when all files are gone. Who has come in between is seen now; who does
        # later sees this file.
        if self._numbers(name) != before | {own} or self._read_all(name, before) != there:
            discard(self._path(name, own))
            raise Held(self.seen(name) or unknown(name, own))
        for number in sorted(before):
            discard(self._path(name, number))
        return own

    def _make(self, path: Path) -> bool:
        """Write a new file that names this process; False if there is one."""
        try:
            for _ in range(_TRIES):
                # Not with those above it: a run directory that was moved away is not made anew.
                with suppress(FileExistsError):
                    self._folder.mkdir()
                # Another process may have removed the empty folder in between.
                with suppress(FileNotFoundError):
                    return lock_file.make(path)
            return lock_file.make(path)
        except OSError as error:
            raise not_written(path, error) from None

    def _check(self, name: str, number: int) -> None:
        # Whoever takes over makes the next file.
        overtaken = os.path.lexists(self._path(name, number + 1))
        if overtaken or not lock_file.is_own(self._path(name, number)):
            raise Lost(f"{name} was taken over, as this process was not heard of for a while")

    def _renew(self, path: Path, done: threading.Event) -> None:
        while not done.wait(self._lease / 4):
            with suppress(OSError):
                os.utime(path)

    def _numbers(self, name: str) -> set[int]:
        return {number for other, number in self._listed() if other == name}

    def _listed(self) -> Iterator[tuple[str, int]]:
        """Yield name and number of every lock's file."""
        with suppress(OSError):
            for entry in os.listdir(self._folder):
                if match := _FILE.fullmatch(entry):
                    yield match[1], int(match[2])

    def _read(self, name: str, number: int) -> Lock | None:
        return lock_file.read(self._path(name, number), unknown(name, number))

    def _read_all(self, name: str, numbers: set[int]) -> list[Lock]:
        found = (self._read(name, number) for number in sorted(numbers))
        return [lock for lock in found if lock]

    def _path(self, name: str, number: int) -> Path:
        return self._folder / f"{name}.{number}.lock"


class Watch:
    """Locks as one process sees them in time: one that nobody renews for a lease is stale."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._seen: dict[str, _Look] = {}

    def stale(self, lock: Lock) -> bool:
        """Whether the lock has looked like this for a lease, by this process's own clock.

        Look often: the time between two looks counts for a quarter of a lease at most, as what has
        kept this process from looking may have kept the holder from renewing, too.
        """
        now, last = time.monotonic(), self._seen.get(lock.name)
        quiet, renewed = 0.0, False
        if last and last.lock == lock:
            quiet = last.quiet + min(now - last.at, self._lease / 4)
            renewed = last.renewed
        elif last:
            renewed = last.lock.number == lock.number
        self._seen[lock.name] = _Look(lock, now, quiet, renewed)
        return quiet >= self._lease

    def renewed(self, name: str) -> bool:
        """Whether the holder of the lock that was last seen was seen to renew it."""
        return name in self._seen and self._seen[name].renewed


@dataclass(frozen=True)
class _Look:
    """What was seen, when, for how long it has been so, and whether it was another way before."""

    lock: Lock
    at: float
    quiet: float
    renewed: bool


_TRIES = 1000


def _holding(locks: Sequence[Lock]) -> Lock | None:
    """Return the lock among those of one name that must be respected, or else the last of them."""
    return next((lock for lock in locks if not lock.dead), locks[-1] if locks else None)


_FILE = re.compile(r"(.+)\.([1-9][0-9]*)\.lock")
