"""A callback for Lightning's Trainer that records the network after each `fit()`."""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from probe.errors import InputError
from probe.record.plugins.task_counter import TaskCounter


class ForgettingProbe(TaskCounter, Callback):
    """A callback that records each `fit()` as a task; give it to the trainers of all tasks.

    If there are several processes, only the first records.

    Args:
        recorder: The recorder of the run; its model is the LightningModule or a network
            in it.
        learned: The number of tasks that an earlier process has trained.

    Raises:
        InputError: `recorder` is not a Recorder, has another network, or has all tasks
            already; or `fit()` trains nothing.
    """

    _trains = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the network before any training."""
        self._trains = True
        if trainer.is_global_zero:
            self.begin(pl_module)

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        """Count a step."""
        if trainer.is_global_zero:
            self.step()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the network after one more task."""
        if trainer.is_global_zero:
            self.end()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Raise InputError if this `fit()` has trained nothing; reset for the next one."""
        trained = self._trains
        self._trains = False
        if not trained:
            raise InputError(
                "this fit() trained nothing, it has no batches, or its Trainer had "
                "reached max_epochs or max_steps: make a new Trainer for each task"
            )
