"""A block that is asked to stop ends at once, or is ended, and gives back what it has borrowed."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from scenarios.commands.screen.signals import stoppable
from scenarios.execution.server import ctrl_c_held_back
from tests.scenarios.execution.helpers import exit_code, fork


def in_a_block(action, number):
    """Send a signal to a child once it is in the midst of its action; return its exit code.

    action: it calls the function that it is given, and does not end by itself then.
    """
    told, tell = os.pipe()

    def act():
        with stoppable(0.5):
            action(lambda: os.write(tell, b"."))

    process = fork(act)
    os.read(told, 1)
    os.kill(process, number)
    return exit_code(process)


def sleep(began):
    began()
    time.sleep(600)


def long_call(began):
    """Compute in C: Python's handler does not run, though other threads do."""
    began()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 1_000_000_000)


def deaf(began=lambda: None):
    """Go on whatever happens, as code does that catches everything."""
    while True:
        try:
            began()
            time.sleep(300)
        except BaseException:
            began = time.time


def failing(began):
    """End in any error, as an import does that is interrupted."""
    try:
        sleep(began)
    except BaseException:
        raise ImportError("cannot be imported") from None


@pytest.mark.parametrize(
    ("action", "number", "code"),
    [
        (sleep, signal.SIGINT, 130),
        (long_call, signal.SIGINT, 130),
        (deaf, signal.SIGTERM, 143),
        (failing, signal.SIGTERM, 143),
    ],
)
def test_a_block_ends_if_it_can_and_is_ended_if_not(action, number, code):
    assert in_a_block(action, number) == code


def test_ctrl_c_is_held_back_and_not_lost():
    """A process that is started meanwhile never gets it; this one gets it afterwards."""

    def act():
        held = []
        signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
        os.setpgrp()
        with ctrl_c_held_back():
            wait = [sys.executable, "-c", "input()"]
            deaf = subprocess.Popen(wait, stdin=subprocess.PIPE, text=True)
            os.killpg(0, signal.SIGINT)
            early = list(held)
        deaf.communicate("\n")
        return 7 if (deaf.returncode, early, held) == (0, [], [signal.SIGINT]) else 8

    assert exit_code(fork(act)) == 7
