"""A callback for Hugging Face's Trainer that records the network after each `train()`."""

from typing import Any

from transformers import TrainerCallback

from probe.record.plugins.task_counter import TaskCounter


class ForgettingProbe(TaskCounter, TrainerCallback):
    """A recorder of each `train()` as a task; the same callback goes to the trainers of all tasks.

    Of several processes the first records.

    Args:
        recorder: The recorder of the run, mostly with output="logits".
        learned: The number of tasks that an earlier process has trained.

    Raises:
        InputError: As the recorder does.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Record the network before any training."""
        if state.is_world_process_zero:
            self.begin(kwargs["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Record the network after one more task."""
        if state.is_world_process_zero:
            self.end()
