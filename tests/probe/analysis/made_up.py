"""Studies made up with a known truth: seeds and test examples both random, as in real ones."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from probe.analysis.quantities import Terms

TASKS, CLASSES = 5, 10
POSITIONS = np.arange(TASKS)
ORDERS = (POSITIONS[:, None] + POSITIONS) % TASKS
CLASS_LEVELS = np.linspace(-0.4, 0.4, CLASSES)  # some classes are harder
SHARED = 0.5  # of a seed's part, the same for all models of a seed


@dataclass(frozen=True, kw_only=True)
class World:
    """The laws of a study's outcomes: an example is right if the sum of normal terms is > 0.

    last: what is known of the task at each position, (T,), after the last task; floor,
    ceiling: of the untrained and the offline-trained network; early: known of a task
    right after it was learned. After the next task it is known as little as in the end,
    and before it was learned less than by the untrained network: one row is clearly
    best.

    by_seed: std of the seeds' own part. That of the examples, the same for all models,
    is 1, and so is that of the rest, which is of this seed, order, row and example.
    collapsing: the share of seeds whose learner knows by 2 less.
    """

    last: tuple[float, ...]
    floor: float
    ceiling: float
    early: float = 1.0
    by_seed: float = 0.15
    collapsing: float = 0.0

    def chance(self, level):
        """Return the exact chance of a right answer: the classes' mean over seeds and examples."""
        std = np.sqrt(2 + self.by_seed**2)
        by_class = norm.cdf((level + CLASS_LEVELS) / std)
        return float(by_class.mean())

    def level(self, row, place):
        """Return what is known in a row 1..T of the task at a position 1..T."""
        if row == TASKS or place < row:
            return self.last[place - 1]
        return self.early if place == row else self.floor - 0.6

    def truth(self):
        """Return the true value of each quantity over all tasks, exactly.

        The same at each class and order, so that every position is a mean over all
        classes.
        """

        def known(level):
            p = self.collapsing
            collapsed = self.chance(level - 2)
            return (1 - p) * self.chance(level) + p * collapsed

        b = self.chance(self.floor)
        C = self.chance(self.ceiling)
        before = known(self.early)
        each = np.array([known(level) for level in self.last])
        A = float(each.mean())
        learned = np.full(TASKS, before)
        learned[-1] = each[-1]
        forgotten = learned - each
        lost = float(forgotten[:-1].mean())
        slope, _ = np.polyfit(POSITIONS, C - learned, 1)
        return {
            "accuracy": A,
            "floor": b,
            "ceiling": C,
            "missing": C - A,
            "never_learned": float((C - learned).mean()),
            "forgotten": lost,
            "forgotten_max": lost,
            "forgotten_share": float(forgotten.mean() / (C - A)),
            "never_learned_slope": float(slope),
            "above_floor": A - b,
            "offline_adds": C - b,
            "acquired": float(learned.mean()) - b,
            "retained": (A - b) / (C - b),
        }


def drawn(world, examples, seeds, chance):
    """Draw the seeds and test examples of one study; return the function that draws its models.

    It takes levels, (O, n) or (S, O, n), and returns the right answers of one model for
    each seed and order, (S, O, n). The seed's part is the same in all orders, which
    helps least. Each example is of one of its task's two classes, at random.
    """
    tasks = np.arange(examples) % TASKS
    classes = 2 * tasks + chance.integers(2, size=examples)
    hard = CLASS_LEVELS[classes] + chance.standard_normal(examples)
    all_models = SHARED * chance.standard_normal(seeds)

    def right(levels):
        own = np.sqrt(1 - SHARED**2) * chance.standard_normal(seeds)
        by_seed = world.by_seed * (all_models + own)
        shape = (seeds, *levels.shape[-2:])
        rest = chance.standard_normal(shape, dtype=np.float32)
        return rest + by_seed[:, None, None] + (levels + hard) > 0

    return right


def study(world, examples, seeds, chance):
    """Return one study's terms in a world, of as many test examples of each task."""
    right = drawn(world, examples, seeds, chance)
    tasks = np.arange(examples) % TASKS
    flat = np.zeros((1, examples))
    floor = right(flat + world.floor)[:, 0]
    ceiling = right(flat + world.ceiling)[:, 0]
    # The position of each example's task in each order, (O, n).
    places = np.argsort(ORDERS, axis=1)[:, tasks]
    collapses = chance.random((seeds, 1, 1)) < world.collapsing
    lost = 2.0 * collapses
    positions = range(1, TASKS + 1)
    rows = {}
    for t in positions:
        levels = np.array([world.level(t, p) for p in positions])
        rows[t] = right(levels[places] - lost)
    return Terms(
        tasks=tasks,
        orders=ORDERS,
        after=rows,
        floor=floor,
        ceiling=ceiling,
    )
