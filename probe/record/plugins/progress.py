"""How many tasks a framework's loop has learned, told to a recorder."""

from __future__ import annotations

from typing import Any

from torch import nn

from probe.errors import InputError
from probe.record.recorder import Recorder


class Progress:
    """Counts the tasks that a loop begins and ends, and records the network then.

    given: a Recorder, or what one is made with; settings: its named arguments; learned: number of
    tasks learned by an earlier process, after which this one goes on. Raises InputError where
    the recorder would, and for a recorder with other arguments beside it.
    """

    def __init__(self, given: tuple[Any, ...], settings: dict[str, Any], learned: int = 0) -> None:
        if given and isinstance(given[0], Recorder):
            if given[1:] or settings:
                raise InputError(
                    "got a Recorder and arguments for another: give these to the Recorder"
                )
            self.recorder = given[0]
        else:
            self.recorder = Recorder(*given, **settings)
        self.learned = learned
        self._begun = learned

    def begin(self, trained: nn.Module) -> None:
        """Record the network before any training; trained: what the loop trains.

        Raises InputError, before that training, if it is not what the recorder holds, or all tasks
        have been learned.
        """
        if not any(module is self.recorder.model for module in trained.modules()):
            raise InputError(
                "the recorder has another model than the one that is trained: make both with the "
                "same"
            )
        if self.learned >= (known := len(self.recorder.tasks)):
            raise InputError(
                f"all {known} tasks have been learned, and another training begins: make a new "
                f"ForgettingProbe, with a Recorder of its own seed or order, for each run"
            )
        # Not again after a training that failed.
        if not self._begun:
            self.recorder.after_task(0)
        self._begun = True

    def end(self) -> None:
        """Record the network after one more task."""
        self.learned += 1
        self.recorder.after_task(self.learned)
