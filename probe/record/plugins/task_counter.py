"""A count of the tasks that a framework's loop has learned, for its recorder."""

from torch import nn

from probe.errors import InputError
from probe.record.recorder import Recorder


class TaskCounter:
    """A counter of tasks that records the network when a loop begins and after each task.

    It is a base class of each plugin, next to the framework's own base class.

    Args:
        recorder: The recorder of the run.
        learned: The number of tasks learned by an earlier process.

    Raises:
        InputError: `recorder` is not a Recorder.
    """

    def __init__(self, recorder: Recorder, learned: int = 0) -> None:
        if not isinstance(recorder, Recorder):
            raise InputError(
                f"a plugin takes a probe.Recorder, got {type(recorder).__name__}: "
                "make one first"
            )
        super().__init__()
        self.recorder = recorder
        self.learned = learned
        self._begun = bool(learned)

    def begin(self, trained: nn.Module) -> None:
        """Record the network before any training.

        Args:
            trained: The network that the loop trains.

        Raises:
            InputError: The recorder holds another network, or all tasks have been
                learned.
        """
        if not any(module is self.recorder.model for module in trained.modules()):
            raise InputError(
                "the recorder's model is not the one trained here: give both the same"
            )
        if self.learned >= len(self.recorder.tasks):
            raise InputError(
                f"all {self.learned} tasks have been learned: make one for each run"
            )
        # Not again after a training that failed.
        if not self._begun:
            self.recorder.after_task(0)
        self._begun = True

    def step(self) -> None:
        """Count a step of the training, if the recorder counts steps."""
        if self.recorder.counts_steps:
            self.recorder.after_step()

    def end(self) -> None:
        """Record the network after one more task."""
        self.learned += 1
        self.recorder.after_task(self.learned)
