"""Studies made up with a known truth: seeds and test examples both random, as in real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from probe.analysis.layers import LayerOutcomes, TestLayout

TASKS, CLASSES = 5, 10
ORDERS = np.array([np.roll(np.arange(TASKS), -shift) for shift in range(TASKS)])
CLASS_LEVELS = np.linspace(-0.4, 0.4, CLASSES)  # some classes are harder


@dataclass(frozen=True, kw_only=True)
class World:
    """Where a study's outcomes come from: an example is right if the sum of normal terms is > 0.

    last: what is known of the task at each place, (T,), after the last task; floor, ceiling: of
    the untrained and the offline-trained network; early: known of a task right after it was
    learned, None for the last row alone. After the next task it is known as little as in the end,
    and before it was learned less than by the untrained network: one row is clearly best.

    by_seed: std of the seeds' own part, of which `shared` is the same for all models of a seed;
    by_example: std of the examples' own, the same for all models. What is left, of variance 1, is
    of this seed, order, row and example.
    """

    last: tuple[float, ...]
    floor: float
    ceiling: float
    early: float | None = None
    by_seed: float = 0.15
    shared: float = 0.5
    by_example: float = 1.0

    def chance(self, level: float) -> float:
        """Return the exact chance of a right answer: the classes' mean over seeds and examples."""
        spread = np.sqrt(1 + self.by_seed**2 + self.by_example**2)
        return float(norm.cdf((level + CLASS_LEVELS) / spread).mean())

    def level(self, row: int, place: int) -> float:
        """Return what is known in a row 1..T of the task at a place 1..T."""
        if row == TASKS or self.early is None:
            return self.last[place - 1]
        if place > row:
            return self.floor - 0.6
        return self.early if place == row else self.last[place - 1]

    def truth(self) -> dict[tuple[str, int | None], float]:
        """Return the true value of each quantity, by name and place, exactly.

        The same at each class and order, so that every place is a mean over all classes.
        """
        b, C = self.chance(self.floor), self.chance(self.ceiling)
        A = {place: self.chance(self.last[place - 1]) for place in range(1, TASKS + 1)}
        A_all = float(np.mean(list(A.values())))
        true: dict[tuple[str, int | None], float] = {}
        for place, a in [(None, A_all), *A.items()]:
            of_place = {
                "accuracy": a,
                "floor": b,
                "ceiling": C,
                "missing": C - a,
                "above_floor": a - b,
                "retained": (a - b) / (C - b),
            }
            true |= {(name, place): value for name, value in of_place.items()}
        if self.early is not None:
            before = self.chance(self.early)
            lost = {place: before - A[place] for place in range(1, TASKS)}
            never = {**dict.fromkeys(lost, C - before), TASKS: C - A[TASKS]}
            over_time = {
                "since_learned": lost,
                "forgotten": {**lost, TASKS: b - A[TASKS]},
                "never_learned": never,
            }
            for name, values in over_time.items():
                true |= {(name, place): value for place, value in values.items()}
                true[name, None] = float(np.mean(list(values.values())))
        return true


def layout(examples: int) -> TestLayout:
    """Return the layout of a test set of two classes for each task, as many of each class."""
    classes = np.arange(examples) % CLASSES
    return TestLayout(tasks=classes // 2, strata=classes, orders=ORDERS)


class Drawn:
    """The seeds and test examples of one study, new in every one, of which models are drawn."""

    def __init__(
        self, world: World, where: TestLayout, seeds: int, chance: np.random.Generator
    ) -> None:
        n = len(where.tasks)
        self._world, self._chance = world, chance
        self._hard = CLASS_LEVELS[where.strata] + world.by_example * chance.standard_normal(n)
        self._all_models = world.shared * chance.standard_normal(seeds)

    def right(self, levels: np.ndarray) -> np.ndarray:
        """Return the right answers of one model for each seed and order, (S, O, n); levels: (O, n).

        The seed's part is the same in all orders, by which averaging over these helps least.
        """
        seeds = len(self._all_models)
        own = np.sqrt(1 - self._world.shared**2) * self._chance.standard_normal(seeds)
        by_seed = self._world.by_seed * (self._all_models + own)
        rest = self._chance.standard_normal((seeds, *levels.shape), dtype=np.float32)
        return rest + by_seed[:, None, None] + (levels + self._hard) > 0


def study(
    world: World, where: TestLayout, seeds: int, chance: np.random.Generator
) -> LayerOutcomes:
    """Return one study's outcomes in a world."""
    right = Drawn(world, where, seeds, chance).right
    flat = np.zeros((1, len(where.tasks)))
    floor, ceiling = (right(flat + level)[:, 0] for level in (world.floor, world.ceiling))
    # The place of each example's task in each order, (O, n).
    places = np.argsort(ORDERS, axis=1)[:, where.tasks]
    rows = range(1, TASKS + 1) if world.early is not None else [TASKS]
    levels = {t: np.array([world.level(t, p) for p in range(1, TASKS + 1)])[places] for t in rows}
    return LayerOutcomes(rows={t: right(levels[t]) for t in rows}, floor=floor, ceiling=ceiling)


@cache
def level_of(world: World, accuracy: float) -> float:
    """Return the level at which the chance of a right answer is this."""
    return float(brentq(lambda level: world.chance(level) - accuracy, -9, 9))


def differences(
    world: World,
    drops: Sequence[float],
    where: TestLayout,
    seeds: int,
    chance: np.random.Generator,
) -> list[np.ndarray]:
    """Return what each layer lacks to the ceiling, (S, n), its accuracy being lower by the drop."""
    right, n = Drawn(world, where, seeds, chance).right, len(where.tasks)
    top, made = world.chance(world.ceiling), []
    for drop in drops:
        level = level_of(world, top - drop)
        ceiling = right(np.full((1, n), world.ceiling))[:, 0]
        made.append(ceiling - right(np.full((len(ORDERS), n), level)).mean(axis=1))
    return made
