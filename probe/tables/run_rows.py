"""The rows of one run out of its confusion counts, as a study writes them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from probe.metrics.counts import Counts
from probe.metrics.murata import RETRAIN, pra
from probe.metrics.task_counts import TaskCounts
from probe.tables.rows import Row
from probe.tasks import task_name

SCENARIO, NETWORK, LEARNER, ORDER = "own data", "own network", "model", "0"
"""Entries of rows for data and networks without a name."""

HEAD = "all"
"""The outputs that compete in a given network."""


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """Makes the rows of one run; tasks: the classes of each of the T tasks, in executed order."""

    tasks: tuple[tuple[int, ...], ...]
    learner: str = LEARNER
    order: str = ORDER
    seed: int = 0
    scenario: str = SCENARIO
    network: str = NETWORK

    def of_itself(self, step: int, counts: Counts) -> Iterator[Row]:
        """Yield the cells of R after a step."""
        yield from self._each("accuracy", self._of(counts).accuracies(), step=step, head=HEAD)

    def behind(
        self, feature: str, depth: int, readout: str, step: int, counts: Counts
    ) -> Iterator[Row]:
        """Yield PRA and the accuracy on each task of a readout of a feature.

        depth: of the feature, from 1; readout: empty at the output, whose accuracies are R.
        """
        at = {"feature": feature, "depth": depth, "readout": readout, "step": step}
        yield self._row(measure="pra", value=pra(counts), **at)
        if readout:
            yield from self._each("accuracy", self._of(counts).accuracies(), **at)

    def f1(
        self, feature: str, depth: int, readout: str, step: int, counts: Counts
    ) -> Iterator[Row]:
        """Yield each task's micro-F1; it is of the output and of retraining alone."""
        if readout in ("", RETRAIN):
            at = {"feature": feature, "depth": depth, "readout": readout, "step": step}
            yield from self._each("f1", self._of(counts).f1(), **at)

    def _of(self, counts: Counts) -> TaskCounts:
        return TaskCounts(tasks=self.tasks, tables=(counts,))

    def _row(self, **cells: Any) -> Row:
        own = {name: value for name, value in vars(self).items() if name != "tasks"}
        return Row(**own, **cells)

    def _each(self, measure: str, values: NDArray[Any], **at: Any) -> Iterator[Row]:
        row = partial(self._row, measure=measure, **at)
        names = map(task_name, self.tasks)
        for place, (task, value) in enumerate(zip(names, values.tolist(), strict=True), 1):
            yield row(place=place, task=task, value=value)
