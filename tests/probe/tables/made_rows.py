"""Invented rows of a small study, of every kind that a real one has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from probe.tables.rows import MeasurementRow

ORDERS = {"a": ("x", "y", "z"), "b": ("z", "x", "y")}
BASE = ("x", "y", "z")
FEATURES = ("conv1", "conv2")
READOUTS = ("retrain", "linear")
T = len(BASE)


def study(seeds: int = 2, learners: tuple[str, ...] = ("er", "finetune")) -> list[MeasurementRow]:
    """Rows as `probe run` writes them, with values that no two cells share."""
    draw = np.random.default_rng(0)
    runs = [(name, *order, seed) for name in learners for order in ORDERS.items()
            for seed in range(seeds)]  # fmt: skip
    rows = [row for run in runs for row in _run(draw, *run, range(T + 1), range(1, T + 1))]
    for control, tasks_seen in (("offline", T), ("untrained", 0)):
        for seed in range(seeds):
            rows += _run(draw, control, "", BASE, seed, {0, tasks_seen}, {tasks_seen})
    return rows


def _run(
    draw: np.random.Generator,
    learner: str,
    order: str,
    tasks: tuple[str, ...],
    seed: int,
    steps: Iterable[int],
    read: Iterable[int],
) -> Iterator[MeasurementRow]:
    def row(**cells: object) -> MeasurementRow:
        run = {"learner": learner, "order": order, "seed": seed, "value": draw.random()}
        return MeasurementRow(scenario="made", network="up", **run, **cells)  # type: ignore[arg-type]

    def each(**cells: object) -> Iterator[MeasurementRow]:
        for task_position, task in enumerate(tasks, 1):
            yield row(metric="accuracy", task_position=task_position, task=task, **cells)

    for tasks_seen in steps:
        for head in ("single", "multi"):
            yield from each(tasks_seen=tasks_seen, head=head)
        yield row(metric="pra", feature="output", depth=3, tasks_seen=tasks_seen)
    for tasks_seen in read:
        for depth, feature in enumerate(FEATURES, 1):
            for readout in READOUTS:
                at = {
                    "feature": feature,
                    "depth": depth,
                    "readout": readout,
                    "tasks_seen": tasks_seen,
                }
                yield row(metric="pra", **at)
                yield from each(**at)
