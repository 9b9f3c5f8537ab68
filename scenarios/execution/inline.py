"""The jobs of a study one after the other, in this process."""

from __future__ import annotations

from collections.abc import Generator

from scenarios.execution.executor import Take
from scenarios.execution.work import Event, Work, carry_out


class Inline:
    """This process."""

    def events(self, work: Work, take: Take) -> Generator[Event]:
        """See `Executor.events`."""
        while attempt := take():
            yield from carry_out(work, attempt)
