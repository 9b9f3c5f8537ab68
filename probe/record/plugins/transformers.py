"""A callback for Hugging Face's Trainer that records the network after each `train()`."""

from typing import Any

from transformers import TrainerCallback

from probe.record.plugins.task_counter import TaskCounter


class ForgettingProbe(TaskCounter, TrainerCallback):
    """A callback that records each `train()` as a task; give it to the trainers of all tasks.

    If there are several processes, only the first records.

    Args:
        recorder: The recorder of the run, usually with output="logits".
        learned: The number of tasks that an earlier process has trained.

    Raises:
        InputError: `recorder` is not a Recorder, has another network, or has all tasks
            already.
    """

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """Record the network before any training."""
        if state.is_world_process_zero:
            self.begin(kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Count a step."""
        if state.is_world_process_zero:
            self.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Record the network after one more task."""
        if state.is_world_process_zero:
            self.end()
