"""The rows of partial retraining, out of its confusion counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from probe.metrics.murata import RETRAIN, pra
from probe.metrics.task_counts import TaskCounts
from probe.tables.rows import Row
from probe.tasks import task_names


def retraining_rows(
    counts: Mapping[str, TaskCounts], outputs: Sequence[str], seed: int
) -> Iterator[Row]:
    """Yield the cells of R, then PRA, accuracies and F1 of each feature, all after the last task.

    counts: of each feature, by depth, tasks in executed order; outputs: the features that
    are the network's output, whose accuracies are R.
    """
    tasks = next(iter(counts.values())).tasks
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
        named = zip(task_names(tasks), values.tolist(), strict=True)
        for place, (task, value) in enumerate(named, 1):
            yield cell(measure=measure, place=place, task=task, value=value)

    for name in outputs[:1]:
        yield from by_task(partial(row, head="all"), "accuracy", counts[name].accuracies())
    for depth, (name, own) in enumerate(counts.items(), 1):
        of = partial(row, feature=name, depth=depth, readout="" if name in outputs else RETRAIN)
        yield of(measure="pra", value=pra(own.total))
        if name not in outputs:
            yield from by_task(of, "accuracy", own.accuracies())
        yield from by_task(of, "f1", own.f1())
