"""One learner on both sides: trained in turns, tested by the same code."""

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from probe.metrics import chaudhry
from probe.metrics.matrix import AccuracyMatrix
from probe.modules import mode
from probe.seeding import stream
from probe.tasks import Scenario, Task
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.base import Settings
from scenarios.networks import build_network
from tests.laws.counting import evaluate
from tests.peers.avalanche_side import FASTEST, OUR_BATCHES, Avalanche, Usage, same_batches
from tests.peers.ours import Ours
from tests.peers.plugins import corrected, plugins, repaired

OURS = "ours"


class Side(Protocol):
    """A way to train a model on one task after another."""

    @property
    def model(self) -> nn.Module: ...

    def learn(self, position: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one side did with one seed.

    all_outputs, own_outputs: R, with all outputs competing or the task's own ones alone; seconds:
    of training on each task, processor time of one thread.
    """

    learner: str
    side: str
    seed: int
    all_outputs: AccuracyMatrix
    own_outputs: AccuracyMatrix
    seconds: tuple[float, ...]

    def scores(self) -> dict[str, float]:
        """Return A_T and F_T of Chaudhry 2018, with all outputs and with the task's own."""
        found = {}
        for heads, R in (("all", self.all_outputs), ("own", self.own_outputs)):
            found[f"A {heads}"] = chaudhry.average_accuracy(R, R.tasks)
            found[f"F {heads}"] = chaudhry.forgetting(R, R.tasks)
        return found


def run_all(
    settings: Settings,
    scenario: Scenario,
    usages: Mapping[str, Usage],
    recipe: Recipe,
    seed: int,
) -> list[Run]:
    """Train every side on the scenario from the same weights, and test it after each task.

    The sides take turns at each task, so that whatever else the machine does meets them all; who
    is first changes. Raises ValueError if avalanche took another number of steps than the recipe
    says.
    """
    start = fresh(scenario, recipe, seed)
    sides = _sides(start, settings, scenario, usages, recipe, seed)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    rows = {name: [_row(side.model, scenario)] for name, side in sides.items()}
    for position in range(len(scenario.tasks)):
        for name in _turns(list(sides), seed + position):
            seconds[name].append(_timed(partial(sides[name].learn, position)))
            rows[name].append(_row(sides[name].model, scenario))
    _check_steps(sides, scenario, recipe)
    return [
        Run(
            learner=settings.kind,
            side=name,
            seed=seed,
            all_outputs=AccuracyMatrix(np.array(rows[name])[:, 0]),
            own_outputs=AccuracyMatrix(np.array(rows[name])[:, 1]),
            seconds=tuple(seconds[name]),
        )
        for name in sides
    ]


def fresh(scenario: Scenario, recipe: Recipe, seed: int) -> nn.Module:
    """Return the network that every side starts with."""
    model = build_network("mlp", scenario.tasks[0].train.x.shape[1:], scenario.classes)
    initialize(model, recipe.init, stream(seed, "init"))
    return model


def _sides(
    start: nn.Module,
    settings: Settings,
    scenario: Scenario,
    usages: Mapping[str, Usage],
    recipe: Recipe,
    seed: int,
) -> dict[str, Side]:
    model = partial(copy.deepcopy, start)
    sides: dict[str, Side] = {OURS: Ours(model(), recipe, settings, scenario, seed)}
    for name, usage in usages.items():
        added = plugins(settings, recipe, scenario)
        sides[name] = Avalanche(model(), recipe, added, usage, seed)
    if added := repaired(settings):
        name = f"{FASTEST}, repaired"
        sides[name] = Avalanche(model(), recipe, added, usages[FASTEST], seed)
    exact = corrected(settings, recipe, scenario, seed) if recipe.epochs == 1 else None
    if exact is not None:
        sides[OUR_BATCHES] = Avalanche(model(), recipe, exact, same_batches(scenario, seed), seed)
    return sides


def _turns(names: list[str], turn: int) -> list[str]:
    first = turn % len(names)
    return names[first:] + names[:first]


def _timed(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _row(model: nn.Module, scenario: Scenario) -> tuple[list[float], list[float]]:
    """Return the accuracy on every task: with all outputs, and with the task's own alone."""
    with mode(model, training=False):
        every = [_accuracy(model, task, scenario.classes) for task in scenario.tasks]
        own = [
            _accuracy(partial(_own, model, task), task, scenario.classes) for task in scenario.tasks
        ]
    return every, own


def _accuracy(logits: Callable[[Tensor], Tensor], task: Task, classes: int) -> float:
    return evaluate(logits, task.test, classes).accuracy()


def _own(model: nn.Module, task: Task, x: Tensor) -> Tensor:
    scores: Tensor = model(x)
    barred = torch.full_like(scores, -torch.inf)
    barred[:, list(task.classes)] = 0
    return scores + barred


def _check_steps(sides: dict[str, Side], scenario: Scenario, recipe: Recipe) -> None:
    per_epoch = sum(-(-len(task.train) // recipe.batch_size) for task in scenario.tasks)
    for name, side in sides.items():
        if isinstance(side, Avalanche) and side.steps != recipe.epochs * per_epoch:
            expected = recipe.epochs * per_epoch
            raise ValueError(f"{name} took {side.steps} steps, expected {expected}")
