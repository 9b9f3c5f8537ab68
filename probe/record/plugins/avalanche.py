"""A plugin for Avalanche's strategies that records the network after each experience."""

from __future__ import annotations

from typing import Any

from avalanche.training.plugins import SupervisedPlugin

from probe.examples import Examples, join
from probe.record.plugins.task_counter import TaskCounter


class ForgettingProbe(TaskCounter, SupervisedPlugin):
    """A recorder of each experience of a strategy as a task.

    recorder: of the run, of examples as by `data_of`; learned: number of experiences that an
    earlier process has trained. Raises InputError as the recorder does.
    """

    _ended = False

    def before_train_dataset_adaptation(self, strategy: Any, **kwargs: Any) -> None:
        """Record the network before this experience: no plugin has prepared it yet."""
        self.after_training(strategy)
        self.begin(strategy.model)

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Note that an experience is over."""
        self._ended = True

    def after_training(self, strategy: Any, **kwargs: Any) -> None:
        """Record the network: now the strategy's own plugins, which come last, are done with it."""
        if self._ended:
            self.end()
        self._ended = False


def data_of(benchmark: Any) -> tuple[Examples, Examples, list[list[int]]]:
    """Return a benchmark's examples to train and test on, and the classes of each of T tasks.

    The examples are as the benchmark's test transforms give them.
    """
    train, test = benchmark.train_stream, benchmark.test_stream
    tasks = [list(each.classes_in_this_experience) for each in train]
    return _examples(train), _examples(test), tasks


def _examples(stream: Any) -> Examples:
    return join([Examples.of(experience.dataset.eval(), progress=False) for experience in stream])
