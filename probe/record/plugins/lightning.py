"""A callback for Lightning's Trainer that records the network after each `fit()`."""

from __future__ import annotations

from lightning.pytorch import Callback, LightningModule, Trainer

from probe.record.plugins.task_counter import TaskCounter


class ForgettingProbe(TaskCounter, Callback):
    """A recorder of each `fit()` as a task; the same callback goes to the trainers of all tasks.

    recorder: of the run, whose model is the LightningModule or a network in it; learned: number of
    tasks that an earlier process has trained. Raises InputError as the recorder does. Of several
    processes the first records.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the network before any training."""
        if trainer.is_global_zero:
            self.begin(pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the network after one more task."""
        if trainer.is_global_zero:
            self.end()
