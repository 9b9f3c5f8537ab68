"""What an executor is: the place where jobs are done."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol

from scenarios.execution.work import Attempt, Event, Work

Take = Callable[[], Attempt | None]
"""Gives the next job to be done, None if there is none now."""


class Executor(Protocol):
    """A place where jobs are done, some of them side by side.

    Whatever it is, the results are the same bit for bit on a CPU.
    """

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """Do the jobs that `take` gives and yield what happens to them, until all have ended.

        Every attempt ends with one `Ended`; after it `take` may give again. When it is closed,
        nothing it has started goes on. Raises NotWritten as `carry_out` does.
        """
        ...
