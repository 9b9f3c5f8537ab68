"""Termination on request, within a few seconds.

Ctrl-C and SIGTERM (sent by a cluster's scheduler before it kills) are treated alike:
the process ends with a sentence on how to continue. Python handles a signal only
between two bytecode instructions, and a long operation inside torch would delay it for
minutes. So a thread reads signals from the file descriptor to which Python writes them
at once, and ends the process after a grace period. This is safe because half-written
files do not count.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from probe.errors import InputError, Stopped

GRACE = 4.0  # seconds in which a process may end by itself after a request to stop
STOPPED = {130, 143}  # exit codes of a process stopped by Ctrl-C or SIGTERM
HOW_TO_GO_ON = "stopped: run the same command again to go on"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 0.3  # seconds in which a sentence must be said


@contextmanager
def stoppable(grace: float = GRACE) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block by SystemExit(130) and SystemExit(143).

    The first signal interrupts the block, later ones do nothing. A process that does
    not end within `grace` seconds is ended by a thread, also after the block: files in
    a run directory are complete at any moment.
    """
    stop = _Stop(grace)
    read_end, write_end = socket.socketpair()
    # Python writes a byte for each signal; it must not block, and one byte suffices.
    write_end.setblocking(False)
    try:
        threading.Thread(target=stop.watch, args=(read_end,), daemon=True).start()
    except RuntimeError as error:
        read_end.close()
        write_end.close()
        raise InputError(
            f"{error}: end other processes, or raise the process limit"
        ) from None
    old_handlers = [
        (number, signal.signal(number, stop.request)) for number in _SIGNALS
    ]
    old_wakeup_fd = signal.set_wakeup_fd(write_end.fileno(), warn_on_full_buffer=False)
    try:
        yield
    except BaseException:
        # An interrupted import can raise any error.
        if stop.code is None:
            raise
        raise Stopped(stop.code) from None
    finally:
        stop.block_ended.set()
        signal.set_wakeup_fd(old_wakeup_fd)
        for number, handler in old_handlers:
            # The next signal must not change the exit code of a process that is ending.
            signal.signal(number, handler if stop.code is None else signal.SIG_IGN)
        write_end.close()


class _Stop:
    """A request to stop, with the response to it.

    Attributes:
        code: The exit code once requested, None before.
        block_ended: The event that the block is over.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self.code: int | None = None
        self.block_ended = threading.Event()

    def request(self, number: int, frame: FrameType | None) -> None:
        """At the first signal, interrupt the block, or end the process if it is importing.

        An import may swallow any exception raised within it, and the process would not
        stop.
        """
        if self.code is None:
            self.code = 128 + number
            while frame is not None:
                if frame.f_code.co_filename.startswith("<frozen importlib"):
                    _say()
                    os._exit(self.code)
                frame = frame.f_back
            raise Stopped(self.code)

    def watch(self, signals: socket.socket) -> None:
        """Wait for a signal to stop, and end the process after the grace period.

        signals: Sends one byte for each signal, its number; ends when the other end
            closes.
        """
        with signals:
            while number := signals.recv(1):
                if number[0] in _SIGNALS:
                    time.sleep(self._grace)
                    # After the block the sentence has been said.
                    if not self.block_ended.is_set():
                        # There may be no reader, and the process may hang for just that
                        # reason.
                        warning = threading.Thread(target=_say, daemon=True)
                        warning.start()
                        warning.join(_PATIENCE)
                    os._exit(128 + number[0])


def _say() -> None:
    """Write to standard error how to continue; do nothing if it is closed."""
    # To standard error past Python's own buffers, which another thread may have locked.
    with suppress(OSError):
        os.write(2, f"{HOW_TO_GO_ON}\n".encode())
