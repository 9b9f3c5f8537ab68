"""The rows of partial retraining, out of its confusion counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from probe.metrics.counts import Counts
from probe.metrics.murata import RETRAIN, pra, task_f1
from probe.metrics.task_counts import TaskCounts
from probe.tables.rows import Row
from probe.tasks import task_name


def retraining_rows(
    tasks: tuple[tuple[int, ...], ...],
    counts: Mapping[str, Counts],
    outputs: Sequence[str],
    seed: int,
) -> Iterator[Row]:
    """Yield the cells of R, then PRA, accuracies and F1 of each feature, all after the last task.

    tasks: the classes of each of the T tasks, in executed order; counts: of each feature, by depth;
    outputs: the features that are the network's output, whose accuracies are R.
    """
    row = partial(
        Row,
        scenario="own data",
        network="own network",
        learner="model",
        order="0",
        seed=seed,
        step=len(tasks),
    )

    def by_task(
        cell: Callable[..., Row], measure: str, values: NDArray[np.float64]
    ) -> Iterator[Row]:
        named = zip(map(task_name, tasks), values.tolist(), strict=True)
        for place, (task, value) in enumerate(named, 1):
            yield cell(measure=measure, place=place, task=task, value=value)

    def accuracies(own: Counts) -> NDArray[np.float64]:
        return TaskCounts(tasks=tasks, tables=(own,)).accuracies()

    for name in outputs[:1]:
        yield from by_task(partial(row, head="all"), "accuracy", accuracies(counts[name]))
    for depth, (name, own) in enumerate(counts.items(), 1):
        of = partial(row, feature=name, depth=depth, readout="" if name in outputs else RETRAIN)
        yield of(measure="pra", value=pra(own))
        if name not in outputs:
            yield from by_task(of, "accuracy", accuracies(own))
        yield from by_task(of, "f1", task_f1(own, tasks))
