"""Invented rows of a small study, of every kind that a real one has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from probe.tables.rows import Row

ORDERS = {"a": ("x", "y", "z"), "b": ("z", "x", "y")}
BASE = ("x", "y", "z")
FEATURES = ("conv1", "conv2")
READOUTS = ("retrain", "linear")
T = len(BASE)


def study(seeds: int = 2, learners: tuple[str, ...] = ("er", "finetune")) -> list[Row]:
    """Rows as `probe run` writes them, with values that no two cells share."""
    chance = np.random.default_rng(0)
    found: list[Row] = []
    for learner in learners:
        for order, tasks in ORDERS.items():
            for seed in range(seeds):
                run = _Run(learner, order, tasks, seed, chance)
                found += run.rows(range(T + 1), range(1, T + 1))
    for level, step in (("offline", T), ("untrained", 0)):
        for seed in range(seeds):
            found += _Run(level, "", BASE, seed, chance).rows({0, step}, {step})
    return found


class _Run:
    def __init__(
        self,
        learner: str,
        order: str,
        tasks: tuple[str, ...],
        seed: int,
        chance: np.random.Generator,
    ) -> None:
        self._run = {"learner": learner, "order": order, "seed": seed}
        self._tasks, self._chance = tasks, chance

    def rows(self, steps: object, behind: object) -> Iterator[Row]:
        for step in steps:  # type: ignore[attr-defined]
            for head in ("single", "multi"):
                yield from self._each(measure="accuracy", step=step, head=head)
            yield self._row(measure="pra", feature="output", depth=3, step=step)
        for step in behind:  # type: ignore[attr-defined]
            for depth, feature in enumerate(FEATURES, 1):
                for readout in READOUTS:
                    at = {"feature": feature, "depth": depth, "readout": readout, "step": step}
                    yield self._row(measure="pra", **at)
                    yield from self._each(measure="accuracy", **at)

    def _row(self, **cells: object) -> Row:
        value = self._chance.random()
        return Row(scenario="made", network="up", **self._run, value=value, **cells)  # type: ignore[arg-type]

    def _each(self, **cells: object) -> Iterator[Row]:
        for place, task in enumerate(self._tasks, 1):
            yield self._row(place=place, task=task, **cells)
