"""Who does what in a folder that several processes share: lock files with a lease."""

from __future__ import annotations

import json
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from probe.errors import NotWritten
from probe.files import discard
from probe.processes import birth, machine

LEASE = 60.0
"""Seconds after which a lock that its holder has not renewed is no longer respected."""


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock as it was seen. holder: for messages; beat: changes whenever the holder renews it."""

    name: str
    number: int
    holder: str
    beat: int
    dead: bool


class Held(Exception):
    """Another process holds the lock."""

    def __init__(self, lock: Lock) -> None:
        super().__init__(f"{lock.name} is held by {lock.holder}")
        self.lock = lock


class Lost(Exception):
    """This process held a lock, was not heard of for a lease, and another has taken over."""


class Claims:
    """The locks of a folder.

    A lock is a file `NAME.NUMBER.lock` that names its holder; when it is given back it becomes
    `NAME.NUMBER.free`. The next holder makes the file of the next number, which only one process
    can: so two never hold the same, and one that was stopped for long finds out. A holder renews
    the time of its file. Nobody compares that time with a clock, as clocks jump and differ: who
    waits sees whether it changes, see `Watch`. Of its own machine everybody sees at once whether
    a holder still runs.
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
        path = self._take(name, stale)
        done = threading.Event()
        renewer = threading.Thread(target=self._renew, args=(path, done), daemon=True)
        renewer.start()
        try:
            yield lambda: self._check(path, name)
        finally:
            done.set()
            with suppress(OSError):
                os.rename(path, path.with_suffix(".free"))

    @contextmanager
    def awaited(self, name: str) -> Iterator[None]:
        """Hold a lock within the block, after waiting for it as long as it takes."""
        watch, stale = Watch(self._lease), None
        while True:
            try:
                with self.held(name, stale):
                    yield
                return
            except Held as error:
                stale = error.lock if watch.stale(error.lock) else None
                time.sleep(min(0.2, self._lease / 10))

    def seen(self, name: str) -> Lock | None:
        """Return who holds a lock, None if nobody does."""
        numbers = self._numbers(name)
        last = max(numbers, default=0)
        return self._read(name, last) if numbers.get(last) == "lock" else None

    def forget(self) -> None:
        """Remove what is left of locks that nobody holds any more."""
        for path in self._folder.glob("*.free"):
            discard(path)
        with suppress(OSError):
            self._folder.rmdir()

    def _take(self, name: str, stale: Lock | None) -> Path:
        before = self._numbers(name)
        for number in sorted(before):
            there = self._read(name, number) if before[number] == "lock" else None
            if there is not None and not there.dead and there != stale:
                raise Held(there)
        number = max(before, default=0) + 1
        path = self._path(name, number)
        try:
            # Not with those above it: a run directory that was moved away is not made anew.
            self._folder.mkdir(exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                json.dump(_self(), file)
        except FileExistsError:
            raise Held(self._read(name, number) or _unknown(name, number)) from None
        except OSError as error:
            discard(path)
            raise NotWritten(
                f"cannot write {path} ({error.strerror}): make room or choose another --out; what "
                f"was finished is kept, and the same command goes on from there"
            ) from None
        self._settle(name, path, set(before))
        return path

    def _settle(self, name: str, path: Path, before: set[int]) -> None:
        """Withdraw if somebody else has come in between, and clear away older numbers."""
        own = int(path.name.split(".")[-2])
        for number, state in self._numbers(name).items():
            if number in before:
                discard(self._path(name, number).with_suffix(f".{state}"))
            elif number != own and state == "lock":
                discard(path)
                raise Held(self._read(name, number) or _unknown(name, number))

    def _numbers(self, name: str) -> dict[int, str]:
        """Return the numbers of a lock's files, and whether each is a `lock` or `free`."""
        pattern = re.compile(re.escape(name) + r"\.(\d{1,9})\.(lock|free)")
        try:
            found = (pattern.fullmatch(entry) for entry in os.listdir(self._folder))
            return {int(match[1]): match[2] for match in found if match}
        except OSError:
            return {}

    def _read(self, name: str, number: int) -> Lock | None:
        """Return a lock's file as it is, None if it is gone."""
        try:
            # Opened first: on a network's file system that is what asks for news.
            with self._path(name, number).open("rb") as file:
                beat = os.fstat(file.fileno()).st_mtime_ns
                content = file.read(1000)
        except OSError:
            return None
        lock = _unknown(name, number)
        try:
            said = json.loads(content)
            host, process = str(said["host"]), int(said["process"])
            gone = said["machine"] == machine() and birth(process) != said["birth"]
        except (ValueError, KeyError, TypeError):
            # Being written, or spoiled: nothing is known of its holder but whether it renews it.
            return Lock(name=name, number=number, holder=lock.holder, beat=beat, dead=False)
        holder = f"process {process} on {host}"
        return Lock(name=name, number=number, holder=holder, beat=beat, dead=gone)

    def _path(self, name: str, number: int) -> Path:
        return self._folder / f"{name}.{number}.lock"

    def _renew(self, path: Path, done: threading.Event) -> None:
        while not done.wait(self._lease / 4):
            with suppress(OSError):
                os.utime(path)

    def _check(self, path: Path, name: str) -> None:
        if max(self._numbers(name), default=0) != int(path.name.split(".")[-2]):
            raise Lost(f"{name} was taken over, as this process was not heard of for a while")


class Watch:
    """Locks as one process sees them in time: one that nobody renews for a lease is stale."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._since: dict[Lock, float] = {}

    def stale(self, lock: Lock) -> bool:
        """Whether the lock has looked like this for a lease, by this process's own clock."""
        since = self._since.setdefault(lock, time.monotonic())
        return time.monotonic() - since >= self._lease


def _self() -> dict[str, object]:
    process = os.getpid()
    return {
        "host": platform.node(),
        "machine": machine(),
        "process": process,
        "birth": birth(process),
    }


def _unknown(name: str, number: int) -> Lock:
    return Lock(name=name, number=number, holder="another process", beat=0, dead=False)
