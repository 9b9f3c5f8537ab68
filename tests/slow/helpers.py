"""`probe run` as it is typed, kills, and small disks."""

import os
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from probe.by_layer.store import Store
from tests.scenarios.execution.helpers import TINY, alive, exit_code, fork, until

JOB = "er.order-there.seed-0"
ACCESSES = {"open", "os.mkdir", "os.rename", "os.remove"}  # events of Python's audit
PROBE_RUN = (sys.executable, "-m", "scenarios", "run")
POOL = ("--executor", "pool", "--workers", "2")


@dataclass
class Command:
    """`probe run` in a process; mark: an environment variable of it and all that it starts."""

    process: subprocess.Popen[str]
    mark: bytes

    def reaches(self, condition):
        """Wait for a condition while it runs."""
        until(lambda: condition() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()

    def family(self):
        """Return the processes that run and were started by it, itself included."""
        members = []
        for path in Path("/proc").glob("[0-9]*"):
            process = int(path.name)
            with suppress(OSError):
                if self.mark in (path / "environ").read_bytes() and alive(process):
                    members.append(process)
        return members

    def stops(self, number, send=os.kill):
        """Ask it to stop, and check the sentence and the exit code; return its output."""
        send(self.process.pid, number)
        shown, said = self.process.communicate(timeout=600)
        assert said == "stopped: run the same command again to go on\n"
        assert self.process.returncode == 128 + number
        until(lambda: not self.family())
        return shown


@contextmanager
def command(out, *flags):
    """Run the study within the block; nothing of it is left after it."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [*PROBE_RUN, str(TINY), "--out", str(out), *flags],
        env={**os.environ, "STARTED_BY": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    started = Command(process, f"STARTED_BY={mark}".encode())
    with process:
        try:
            yield started
        finally:
            for left in started.family():
                with suppress(OSError):
                    os.kill(left, signal.SIGKILL)


def holders(root):
    """Return the processes that have the lock of a job open."""
    locks = {str(path) for path in root.glob("jobs/*/lock")}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(file) in locks for file in (path / "fd").iterdir()):
                found.append(int(path.name))
    return found


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def signaled_at(name, number, action):
    """Start a child that does something, and is sent a signal at a file or measurement so called.

    As it replaces the file, or before it stores the measurement.
    """

    def act():
        replace, write = os.replace, Store.write

        def signal_at(reached):
            if reached == name:
                os.replace = replace
                os.kill(os.getpid(), number)

        def replacing(source, target):
            signal_at(Path(target).name)
            replace(source, target)

        def writing(store, key, measurement):
            signal_at(str(key))
            write(store, key, measurement)

        os.replace, Store.write = replacing, writing
        return action()

    return fork(act)


def killed_at(name, action):
    """Do something in a child that is killed -9 at a file or measurement of that name."""
    assert exit_code(signaled_at(name, signal.SIGKILL, action)) == -signal.SIGKILL


def killed_after(accesses, root, action):
    """Do something in a child that is killed -9 at an access to a file below a folder.

    accesses: the number of those before it, of whatever kind; returns whether there
        were as many.
    """

    def act():
        left = iter(range(accesses))

        def watch(event, arguments):
            ours = event in ACCESSES and str(arguments[0]).startswith(str(root))
            if ours and next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        return action()

    return exit_code(fork(act)) == -signal.SIGKILL


@contextmanager
def killer(*chosen):
    """Kill -9 within the block what each of `chosen` returns, as soon as it returns a process.

    After the block all of them must have been killed: a test without its kill tests
    nothing.
    """
    left = list(chosen)
    done = threading.Event()

    def work():
        while left and not done.wait(0.001):
            for choose in list(left):
                process = choose()
                if process is not None:
                    left.remove(choose)
                    os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not left


@contextmanager
def tmpfs(folder, options):
    """Mount a small disk at a folder within the block; yields what mounts it anew with others."""
    folder.mkdir(exist_ok=True)

    def mount(*options):
        subprocess.run(
            ["mount", *options, str(folder)], check=True, capture_output=True
        )

    try:
        mount("-t", "tmpfs", "-o", options, "tmpfs")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk")
    try:
        yield lambda changed: mount("-o", f"remount,{changed}")
    finally:
        subprocess.run(["umount", str(folder)], check=True)
