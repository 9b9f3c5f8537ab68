"""A plugin for Avalanche's strategies that records the network after each experience."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from avalanche.training.plugins import SupervisedPlugin
from torch import nn

from probe.examples import Examples, join
from probe.record.plugins.progress import Progress


class ForgettingProbe(SupervisedPlugin):
    """Records each experience of a strategy as a task.

    recorder: a Recorder, or what one is made with; learned: number of experiences that an earlier
    process has trained. Raises InputError as the recorder does.
    """

    def __init__(self, *recorder: Any, learned: int = 0, **settings: Any) -> None:
        super().__init__()
        self._progress = Progress(recorder, settings, learned)
        self._ended = False
        self.recorder = self._progress.recorder

    @classmethod
    def of(cls, folder: str | Path, model: nn.Module, benchmark: Any, **settings: Any) -> Self:
        """Make one with a benchmark's tasks and examples, as its test transforms give them.

        settings: other arguments of the Recorder; train=None keeps no examples.
        """
        streams = benchmark.train_stream, benchmark.test_stream
        tasks = [list(each.classes_in_this_experience) for each in streams[0]]
        if "train" not in settings:
            settings["train"] = _examples(streams[0])
        return cls(folder, model, _examples(streams[1]), tasks, **settings)

    def before_train_dataset_adaptation(self, strategy: Any, **kwargs: Any) -> None:
        """Record what came before this experience: here no plugin has prepared it yet."""
        self.after_training(strategy)
        self._progress.begin(strategy.model)

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Note that an experience is over."""
        self._ended = True

    def after_training(self, strategy: Any, **kwargs: Any) -> None:
        """Record the network: now the strategy's own plugins, which come last, are done with it."""
        if self._ended:
            self._progress.end()
        self._ended = False


def _examples(stream: Any) -> Examples:
    return join([Examples.of(experience.dataset.eval(), progress=False) for experience in stream])
