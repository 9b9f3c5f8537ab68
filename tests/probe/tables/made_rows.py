"""Invented rows of a small study, of every kind that a real one has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from probe.tables.rows import Row

ORDERS = {"a": ("x", "y", "z"), "b": ("z", "x", "y")}
BASE = ("x", "y", "z")
FEATURES = ("conv1", "conv2")
READOUTS = ("retrain", "linear")
T = len(BASE)


def study(seeds: int = 2, learners: tuple[str, ...] = ("er", "finetune")) -> list[Row]:
    """Rows as `probe run` writes them, with values that no two cells share."""
    draw = np.random.default_rng(0)
    runs = [(name, *order, seed) for name in learners for order in ORDERS.items()
            for seed in range(seeds)]  # fmt: skip
    rows = [row for run in runs for row in _run(draw, *run, range(T + 1), range(1, T + 1))]
    for control, step in (("offline", T), ("untrained", 0)):
        for seed in range(seeds):
            rows += _run(draw, control, "", BASE, seed, {0, step}, {step})
    return rows


def _run(
    draw: np.random.Generator,
    learner: str,
    order: str,
    tasks: tuple[str, ...],
    seed: int,
    steps: Iterable[int],
    read: Iterable[int],
) -> Iterator[Row]:
    def row(**cells: object) -> Row:
        run = {"learner": learner, "order": order, "seed": seed, "value": draw.random()}
        return Row(scenario="made", network="up", **run, **cells)  # type: ignore[arg-type]

    def each(**cells: object) -> Iterator[Row]:
        for place, task in enumerate(tasks, 1):
            yield row(measure="accuracy", place=place, task=task, **cells)

    for step in steps:
        for head in ("single", "multi"):
            yield from each(step=step, head=head)
        yield row(measure="pra", feature="output", depth=3, step=step)
    for step in read:
        for depth, feature in enumerate(FEATURES, 1):
            for readout in READOUTS:
                at = {"feature": feature, "depth": depth, "readout": readout, "step": step}
                yield row(measure="pra", **at)
                yield from each(**at)
