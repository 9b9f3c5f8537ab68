"""The course of a training between its tasks: accuracies every few steps, of layers too."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor, nn

from probe.batch import varied
from probe.cut.cuts import cut_each
from probe.cut.model_call import ModelCall
from probe.files import replacing
from probe.readouts.matrix import feature_matrices
from probe.readouts.readout import Ncm, read
from probe.seeding import permutation, stream
from probe.tasked_examples import TaskedExamples

if TYPE_CHECKING:
    import pandas as pd

COURSE = "course.csv"
"""The file of a course in the folder of its run."""

_MOST = 1000  # examples of each split that are read
_SAMPLE = 8  # examples on which layers are found


class Accuracy(NamedTuple):
    """The accuracy on a task after a step; feature: "" for the network's own output."""

    step: int
    tasks_seen: int
    feature: str
    task_position: int
    accuracy: float


class Course:
    """The accuracies of a network, and of a readout of its layers, every few steps.

    Steps of a task that was not learned to its end, as its training was stopped, are dropped.

    Attributes:
        every: The steps between two readings.
        step: The number of the last step.
        test: The test examples that are read, 1,000 at most.

    Args:
        path: The file with the rows so far.
        every: The steps between two readings.
        layers: The names of the modules that are read by the nearest class mean.
        examples: The examples of all tasks.
        learned: The tasks learned by the last network that was recorded.
        seed: The seed that draws the examples.
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
        few = {
            name: split.take(_drawn(len(split), stream(seed, "course", name)))
            for name, split in examples.splits.items()
        }
        self.every, self.test, self._train = every, few["test"], few.get("train")
        self._path, self._layers, self._classes = path, layers, examples.n_classes
        cells: list[list[str]] = []
        if path.exists():
            with path.open(newline="") as file:
                cells = list(csv.reader(file))[1:]
        rows = (Accuracy(int(k), int(t), f, int(j), float(a)) for k, t, f, j, a in cells)
        self._rows = [row for row in rows if row.tasks_seen < learned]
        self.step = max((row.step for row in self._rows), default=0)

    def layer_predictions(self, model: nn.Module, call: ModelCall) -> dict[str, Tensor]:
        """Return what the nearest class mean of each layer predicts for the test examples.

        Raises InputError if a layer does not exist, or does not run.
        """
        if self._train is None or not self._layers:
            return {}
        device = next((p.device for p in model.parameters()), self.test.y.device)
        train, test = self._train.to(device), self.test.to(device)
        sample = varied(test.x, _SAMPLE)
        found = cut_each(model, self._layers, sample, call.output, call.call, tails=False)
        of_train, of_test = (
            feature_matrices(found.of(model, False).each, split.x) for split in (train, test)
        )
        predicted = {}
        for layer in self._layers:
            x, test_x = of_train[layer][0], of_test[layer][0]
            predicted[layer] = read(Ncm(), x, train.y, test_x, self._classes).predicted
        return predicted

    def add(self, learned: int, predictions: Mapping[str, Tensor]) -> None:
        """Add the accuracy of each task.

        Args:
            learned: The tasks learned so far; the next one is being learned.
            predictions: The predicted classes of the test examples, by layer.
        """
        tasks = cast(Tensor, self.test.task).cpu()
        for layer, predicted in predictions.items():
            correct = (predicted.cpu() == self.test.y.cpu()).double()
            for j in tasks.unique().tolist():
                accuracy = float(correct[tasks == j].mean())
                self._rows.append(Accuracy(self.step, learned, layer, j + 1, accuracy))

    def write(self) -> None:
        """Write the file; raises NotWritten."""
        with replacing(self._path) as new, new.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([Accuracy._fields, *self._rows])

    @property
    def table(self) -> pd.DataFrame:
        """The accuracies so far, a row for each step, layer and task."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(Accuracy._fields))


def _drawn(count: int, generator: torch.Generator) -> Tensor:
    """Return the indices of the examples that are read, in order."""
    return permutation(count, generator)[:_MOST].sort().values
