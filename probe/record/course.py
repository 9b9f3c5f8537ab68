"""The accuracies of a network and of its layers every few training steps, in a CSV file."""

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor

from probe.batch import Named
from probe.errors import InputError
from probe.files import content_of, write_text
from probe.seeding import permutation, stream
from probe.tasked_examples import TaskedExamples

if TYPE_CHECKING:
    import pandas as pd

COURSE = "course.csv"
"""The file of a course in the folder of its run."""

_MOST = 1000  # examples of each split that are read at a step


class Accuracy(NamedTuple):
    """The accuracy on a task after a step; feature: "" for the network's own output."""

    step: int
    tasks_seen: int
    feature: str
    task_position: int
    accuracy: float


class Course:
    """The accuracies of a network, and of a readout of its layers, every few steps.

    There is a reading at each task's end, too, so that a training that is resumed there
    goes on at its step.

    Attributes:
        every: The steps between two readings.
        step: The number of the last step.
        learned: The number of tasks learned.
        test: The test examples that are read, 1,000 at most.
        train: As many training examples, None without any.
        layers: The names of the layers that are read.

    Args:
        path: The file with the rows so far.
        every: The steps between two readings.
        layers: The names of the modules that are read by the nearest class mean.
        examples: The examples of all tasks.
        learned: The tasks learned by the last network that was recorded, -1 without one.
        seed: The seed that draws the examples.

    Raises:
        InputError: The file is damaged.
    """

    def __init__(
        self,
        path: Path,
        every: int,
        layers: Sequence[str],
        examples: TaskedExamples,
        learned: int,
        seed: int,
    ) -> None:
        samples = {}
        for name, split in examples.splits.items():
            indices = _draw(split.y.cpu(), stream(seed, "course", name))
            samples[name] = split.take(indices)
        self.every = every
        self.test = samples["test"]
        self.train = samples.get("train")
        self._path = path
        self.layers = layers
        self._rows = _read_rows(path)
        self._size = _size(path)
        # A process killed while it recorded tasks again left fewer rows: go on at the last
        # task in both.
        seen = [row.tasks_seen for row in self._rows if row.tasks_seen <= learned]
        self.learned = max(seen, default=0)
        # -1, without a network, drops all rows.
        self._drop_after(self._first_step(min(self.learned, learned)))

    def _first_step(self, learned: int) -> int:
        """Return the first step at which so many tasks had been learned; -1 if none was read."""
        steps = [row.step for row in self._rows if row.tasks_seen == learned]
        return min(steps, default=-1)

    def _drop_after(self, step: int) -> None:
        """Drop the rows of steps after this one, and count on from it."""
        self._rows = [row for row in self._rows if row.step <= step]
        self.step = max(step, 0)

    def go_to(self, learned: int) -> None:
        """Set the number of tasks learned.

        If it is not higher than before, the training has started again there, and later
        rows, of the earlier training, are dropped.
        """
        if learned <= self.learned:
            step = self._first_step(learned)
            self._drop_after(step - 1)
            self.step = max(step, 0)
        self.learned = learned

    def add(self, predictions: Named) -> None:
        """Add the accuracy on each task at this step, and write the file.

        Args:
            predictions: The predicted classes of the test examples, by layer.

        Raises:
            InputError: Another recorder has written the file since.
            NotWritten: The disk is full.
        """
        if _size(self._path) != self._size:
            raise InputError(
                f"another recorder has written {self._path} since: give each run its "
                "own seed=, order= or learner=, or make a new recorder here"
            )
        now = self.step, self.learned
        # A reading that is repeated at this step replaces the earlier one.
        self._rows = [row for row in self._rows if (row.step, row.tasks_seen) != now]
        tasks = cast(Tensor, self.test.task).cpu()
        for layer, predicted in predictions.items():
            correct = (predicted.cpu() == self.test.y.cpu()).double()
            for task in tasks.unique().tolist():
                accuracy = float(correct[tasks == task].mean())
                self._rows.append(Accuracy(*now, layer, task + 1, accuracy))
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([Accuracy._fields, *self._rows])
        write_text(self._path, text.getvalue())
        self._size = _size(self._path)

    @property
    def table(self) -> "pd.DataFrame":
        """The accuracies so far, a row for each step, layer and task."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(Accuracy._fields))


def _read_rows(path: Path) -> list[Accuracy]:
    """Read the rows of a file; none if there is no file; raises InputError if it is damaged."""
    if not path.exists():
        return []
    try:
        text = content_of(path).decode("utf-8")
        titles, *lines = csv.reader(StringIO(text, newline=""))
        if tuple(titles) != Accuracy._fields:
            raise ValueError(titles)
        return [
            Accuracy(int(step), int(seen), feature, int(task), float(accuracy))
            for step, seen, feature, task, accuracy in lines
        ]
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path} is damaged: remove it, and its steps are lost"
        ) from error


def _size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none; it differs if others wrote it."""
    if not path.exists():
        return 0
    return path.stat().st_size


def _draw(y: Tensor, generator: torch.Generator) -> Tensor:
    """Draw the indices of at most 1,000 examples of balanced classes, ascending.

    As many of each class as can be: one random example of each class, a second one of
    each, and so on, until 1,000 are drawn.

    >>> y = torch.tensor([0] * 3000 + [1] * 400)
    >>> y[_draw(y, torch.Generator())].bincount().tolist()
    [600, 400]
    """
    order = permutation(len(y), generator)
    labels = y[order]
    by_class = labels.argsort(stable=True)
    counts = y.bincount()
    # The rank of each example among those of its class, in random order, from 0.
    rank = torch.empty_like(order)
    first = counts.cumsum(0) - counts
    rank[by_class] = torch.arange(len(y), device="cpu") - first[labels[by_class]]
    return order[rank.argsort(stable=True)[:_MOST]].sort().values
