"""A plugin for Avalanche's strategies that records the network after each experience."""

from typing import Any, NamedTuple

import torch
from avalanche.models import IncrementalClassifier
from avalanche.training.plugins import SupervisedPlugin

from probe.errors import InputError
from probe.examples import Examples
from probe.record.plugins.task_counter import TaskCounter
from probe.tables.note_text import listed
from probe.tasked_examples import as_examples


class ForgettingProbe(TaskCounter, SupervisedPlugin):
    """A plugin that records each experience of a strategy as a task.

    In an online stream (`split_online_stream`), the parts of an experience are one
    task.

    Args:
        recorder: The recorder of the run, with examples as `data_of` returns them.
        learned: The number of experiences that an earlier process has trained.

    Raises:
        InputError: `recorder` is not a Recorder, has another network, or has all tasks
            already.
    """

    _ended = False
    _parts = 0  # of an experience, trained so far
    _origin: Any = None

    def before_train_dataset_adaptation(self, strategy: Any, **kwargs: Any) -> None:
        """Record the network before this experience: no plugin has prepared it yet.

        Raises InputError for a masked head that was adapted to later experiences
        beforehand, or a stream without tasks.
        """
        origin, _ = _origin_and_parts(strategy.experience)
        if origin is not self._origin:
            # A loop may leave out the last parts of an experience.
            self._ended = self._parts > 0
        self._origin = origin
        # Training on several experiences calls `after_training` only once.
        self._record_ended()
        heads = (
            m for m in strategy.model.modules() if isinstance(m, IncrementalClassifier)
        )
        active: set[int] = set()
        for head in heads:
            active.update(head.active_units.nonzero().flatten().tolist())
        classes = set(origin.classes_in_this_experience)
        if self.learned == 0 and not active <= classes:
            raise InputError(
                f"outputs {listed(sorted(active))} are active before the first "
                "experience, which changes the loss: let the head grow (grows=)"
            )
        self.begin(strategy.model)

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """Count a step."""
        self.step()

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Note that an experience, or a part of one, is over."""
        self._parts += 1
        _, parts = _origin_and_parts(strategy.experience)
        self._ended = self._parts == parts

    def after_training(self, strategy: Any, **kwargs: Any) -> None:
        """Record the network once the strategy's own plugins, which run last, are done."""
        self._record_ended()

    def _record_ended(self) -> None:
        """Record the network after an experience that is over and not yet recorded."""
        if self._ended:
            self._parts = 0
            self.end()
        self._ended = False


def _origin_and_parts(experience: Any) -> tuple[Any, int]:
    """Return the experience of which an online stream gives parts, and their number.

    Raises InputError for a stream that does not tell.
    """
    # Loggers see evaluations that are hidden from the training.
    logged = experience.logging()
    origin = getattr(logged, "origin_experience", experience)
    parts = getattr(logged, "sub_stream_length", 1)
    if origin is None or parts is None:
        raise InputError(
            "the stream does not tell where its tasks end: leave out the plugin, and "
            "call recorder.after_task(0), (1), ... in your loop"
        )
    return origin, parts


class Data(NamedTuple):
    """The data of a benchmark for a recorder: examples with the number of their experience."""

    train: Examples
    test: Examples


def data_of(benchmark: Any) -> Data:
    """Return a benchmark's examples to train and test on, with the experience of each example.

    The benchmark's test transforms are applied to all examples.

    Args:
        benchmark: An Avalanche benchmark. If the test stream has more or fewer
            experiences than the training stream, such as one for the whole test set, it
            is divided by classes.

    Raises:
        InputError: The test stream has to be divided by classes, but tasks share
            classes.
    """
    train = _examples(benchmark.train_stream)
    test = _examples(benchmark.test_stream)
    counts = [1 + int(split.task.max()) for split in (train, test)]
    if counts[0] == counts[1]:
        return Data(train, test)
    # Classes by experiences: 1 where an experience trains a class.
    is_trained_in = torch.zeros(1 + int(torch.cat([train.y, test.y]).max()), counts[0])
    is_trained_in[train.y, train.task] = 1
    if (is_trained_in.sum(1)[test.y] != 1).any():
        raise InputError(
            f"the benchmark has {counts[0]} experiences to train on, {counts[1]} to "
            "test on, which share classes: use benchmark_from_datasets(train=[...], "
            "test=[...])"
        )
    return Data(train, test.changed(task=is_trained_in.argmax(1)[test.y]))


def _examples(stream: Any) -> Any:
    """Return the examples of all experiences of a stream, each with its experience's number."""
    tasks = [Examples.of(task.dataset.eval(), progress=False) for task in stream]
    return as_examples(tasks, "the benchmark")
