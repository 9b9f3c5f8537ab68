"""Stopping on request: at once, and if that is not possible, in a few seconds all the same."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 4.0
"""Seconds in which a process that was asked to stop may still end by itself."""

STOPPED = {130, 143}
"""Exit codes of a process that Ctrl-C or SIGTERM has stopped."""

HOW_TO_GO_ON = "stopped: run the same command again to go on"


@contextmanager
def stoppable(grace: float = GRACE) -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C does: by an exception, here SystemExit(143).

    Python sees a signal only between two steps of its own. A process in the middle of a long
    computation is therefore ended by a thread once `grace` seconds are over: whatever is in a run
    directory is whole at any moment. Does nothing outside the main thread, where signals do not
    arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    here, there = socket.socketpair()
    there.setblocking(False)
    ended = threading.Event()
    before = signal.signal(signal.SIGTERM, _raise)
    woken = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(here, ended, grace), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGTERM, before)
        there.close()


def _raise(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _watch(signals: socket.socket, ended: threading.Event, grace: float) -> None:
    """Wait for a signal that asks to stop; end the process if the block does not end in time."""
    with signals:
        while number := signals.recv(1):
            if number[0] in (signal.SIGINT, signal.SIGTERM) and not ended.wait(grace):
                print(HOW_TO_GO_ON, file=sys.stderr, flush=True)
                os._exit(128 + number[0])
