"""`probe run` as it is typed, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.execution.quick import TOML


@dataclass
class Command:
    """`probe run` in a process of its own, which it and all that it starts can be told by."""

    process: subprocess.Popen[str]
    mark: str

    def reaches(self, condition: Callable[[], object]) -> None:
        """Wait until something is so while it runs."""
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def family(self) -> list[int]:
        """Return the processes that run and were started by it, itself included."""
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if self._marked(path)]

    def _marked(self, path: Path) -> bool:
        with suppress(OSError):
            return self.mark.encode() in (path / "environ").read_bytes()
        return False

    def ends_within(self, seconds: float) -> None:
        """Wait until it and all that it has started are gone."""
        deadline = time.monotonic() + seconds
        while family := self.family():
            assert time.monotonic() < deadline, family
            self.process.poll()
            time.sleep(0.02)


@contextmanager
def command(folder: Path, *flags: str) -> Iterator[Command]:
    """Run the study in `folder/run` within the block; nothing of it is left after it."""
    file = folder / "quick.toml"
    file.write_text(TOML, encoding="utf-8")
    words = [sys.executable, "-m", "scenarios", "run", str(file), "--out", str(folder / "run")]
    mark = f"STARTED_BY={uuid.uuid4()}"
    process = subprocess.Popen(
        [*words, *flags],
        env={**os.environ, "STARTED_BY": mark.partition("=")[2]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    started = Command(process, mark)
    with process:
        try:
            yield started
        finally:
            for left in started.family():
                with suppress(OSError):
                    os.kill(left, signal.SIGKILL)
