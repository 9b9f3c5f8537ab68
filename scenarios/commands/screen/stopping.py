"""Stopping on request: at once, and if that is not possible, in a few seconds all the same.

Ctrl-C and SIGTERM (which a cluster's scheduler sends before it kills) are treated alike: the
process ends with the sentence that says how to go on. Python lets a signal interrupt only its own
steps; a long step inside torch would make it wait for minutes. So a thread hears of the signal too,
by the file descriptor that Python writes to at once, and ends the process when the grace is over.
That is safe as nothing that is half written counts.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 4.0
"""Seconds in which a process that was asked to stop may still end by itself."""

STOPPED = {130, 143}
"""Exit codes of a process that Ctrl-C or SIGTERM has stopped."""

HOW_TO_GO_ON = "stopped: run the same command again to go on"
"""The sentence of a process that was stopped."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAYING = 0.3  # seconds in which a sentence must be said
_STANDARD_ERROR = 2


@contextmanager
def stoppable(grace: float = GRACE) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block by SystemExit(130) and SystemExit(143).

    The first of them interrupts the block, later ones do nothing: the process is on its way out.
    grace: seconds after which it is ended in any case.

    Python sees a signal only between two steps of its own. A process in the middle of a long
    computation, or that does not end for another reason, is therefore ended by a thread once
    `grace` seconds are over, also after the block: whatever is in a run directory is whole at any
    moment. Does nothing outside the main thread, where signals do not arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop = _Stop(grace)
    here, there = socket.socketpair()
    # A signal's handler must not wait: what finds no room is not needed.
    there.setblocking(False)
    before = [(number, signal.signal(number, stop.asked)) for number in _SIGNALS]
    woken = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=stop.watch, args=(here,), daemon=True).start()
    try:
        yield
    except BaseException:
        # An interrupted import can end in any error.
        if stop.code is None:
            raise
        raise SystemExit(stop.code) from None
    finally:
        stop.block_ended.set()
        signal.set_wakeup_fd(woken)
        for number, handler in before:
            # A process that ends must not be told to by the next signal, and so by another code.
            signal.signal(number, handler if stop.code is None else signal.SIG_IGN)
        there.close()


class _Stop:
    """Whether the process was asked to stop, and what is done about it.

    code: the exit code once it was asked, None before; block_ended: set when the block is over.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self.code: int | None = None
        self.block_ended = threading.Event()

    def asked(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the block, the first time; end the process at once if it is importing.

        What is raised within an import may be swallowed there, and then nothing would stop.
        """
        if self.code is None:
            self.code = 128 + number
            if _is_importing(frame):
                _say(HOW_TO_GO_ON)
                os._exit(self.code)
            raise SystemExit(self.code)

    def watch(self, signals: socket.socket) -> None:
        """Wait for a signal that asks to stop, and end the process if nothing else does.

        signals: gives a byte for each signal, its number; nothing more when the other end is
        closed.
        """
        with signals:
            while number := signals.recv(1):
                if number[0] in _SIGNALS:
                    time.sleep(self._grace)
                    # What comes after the block can hang as well, but then this was said.
                    if not self.block_ended.is_set():
                        _say_unless_it_hangs(HOW_TO_GO_ON)
                    os._exit(128 + number[0])


def _is_importing(frame: FrameType | None) -> bool:
    """Whether Python's own import machinery is at work in the frame or in one that called it."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _say_unless_it_hangs(sentence: str) -> None:
    """Print a sentence on standard error, but give up after _SAYING seconds."""
    # Nobody may read, and the rest of the process may hang for just that reason.
    saying = threading.Thread(target=_say, args=(sentence,), daemon=True)
    saying.start()
    saying.join(_SAYING)


def _say(sentence: str) -> None:
    """Write a sentence to standard error; do nothing if it is closed."""
    # Past Python's own buffers, which another thread may have locked.
    with suppress(OSError):
        os.write(_STANDARD_ERROR, f"{sentence}\n".encode())
