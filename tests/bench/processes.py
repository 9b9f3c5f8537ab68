"""Measurements in a process of their own, with files on the disk of this folder."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def in_a_process(measure: Callable[..., dict[str, Any]], *arguments: object) -> dict[str, Any]:
    """Call a function of a module with the texts of its arguments, and return what it returns."""
    code = (
        f"import json, sys; from {measure.__module__} import {measure.__name__} as measure; "
        "print(json.dumps(measure(*sys.argv[1:])))"
    )
    call = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a new folder in `runs`, and not in the system's, which may lie in memory."""
    runs = Path("runs")
    runs.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=runs) as folder:
        yield Path(folder)


def peak_memory() -> int:
    """Return the most memory that this process has had so far, in bytes."""
    # Not getrusage's: to the kernel that includes the parent's, from which the process was forked.
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
