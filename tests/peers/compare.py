"""One learner on both sides: trained in turns, tested by the same code."""

import copy
import time
from functools import partial

import numpy as np
import torch

from probe.metrics import chaudhry
from probe.metrics.matrix import AccuracyMatrix
from probe.modules import mode
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from scenarios.learners.catalog import LEARNERS, settings_of
from scenarios.networks import build_network
from tests.laws.counting import evaluate
from tests.peers.avalanche_side import (
    FASTEST,
    OUR_BATCHES,
    Avalanche,
    same_batches,
)
from tests.peers.plugins import corrected, plugins, repaired

OURS = "ours"
# The settings of the papers where these give one.
_GIVEN = {
    "finetune": {},
    "er": {"memory_per_class": 128},
    "ewc": {"strength": 75_000.0},
    "si": {"strength": 1.0, "damping": 1e-3},
    "lwf": {"strength": 1.0, "temperature": 2.0},
    "gem": {"memory_per_class": 128, "margin": 0.5},
}
SETTINGS = {
    kind: settings_of({"kind": kind, **given}) for kind, given in _GIVEN.items()
}


class Ours:
    """A learner of the catalog that learns the tasks of a scenario by their position."""

    def __init__(self, model, recipe, settings, scenario, seed):
        self.model = model
        self._learner = LEARNERS[settings.kind](model, recipe, settings, seed)
        self._tasks = scenario.tasks

    def learn(self, position):
        self._learner.learn(self._tasks[position])


def run_all(settings, scenario, usages, recipe, seed):
    """Train every side on the scenario from the same weights, and test it after each task.

    The sides take turns at each task, so that whatever else the machine does meets them
    all; who is first changes. Returns what each did: R with all outputs competing and
    with the task's own alone, A_T and F_T of Chaudhry 2018 of both, in points, and the
    seconds of training, processor time of one thread. Raises ValueError if avalanche
    took another number of steps than the recipe says.
    """
    sides = _sides(settings, scenario, usages, recipe, seed)
    names = list(sides)
    seconds = dict.fromkeys(sides, 0.0)
    rows = {name: [_row(side.model, scenario)] for name, side in sides.items()}
    for position in range(len(scenario.tasks)):
        first = (seed + position) % len(names)
        for name in names[first:] + names[:first]:
            start = time.process_time()
            sides[name].learn(position)
            seconds[name] += time.process_time() - start
            rows[name].append(_row(sides[name].model, scenario))
    expected = recipe.epochs * sum(
        -(-len(t.train) // recipe.batch_size) for t in scenario.tasks
    )
    runs = []
    for name, side in sides.items():
        if isinstance(side, Avalanche) and side.steps != expected:
            raise ValueError(f"{name} took {side.steps} steps, expected {expected}")
        run = {
            "learner": settings.kind,
            "side": name,
            "seed": seed,
            "seconds": seconds[name],
        }
        for which, values in zip(
            ("all", "own"), np.array(rows[name]).swapaxes(0, 1), strict=True
        ):
            R = AccuracyMatrix(values)
            run[f"A {which}"] = 100 * chaudhry.average_accuracy(R, R.tasks)
            run[f"F {which}"] = 100 * chaudhry.forgetting(R, R.tasks)
            run[f"R {which}"] = values.tolist()
        runs.append(run)
    return runs


def differences(settings, scenario, recipe, seed):
    """Return the largest difference of a weight after each task, and how far one of ours moved.

    By counterpart, on the same batches: the exact one, and beside it the library's own
    where that is another; none for replay.
    """
    exact, own = (
        make(settings, recipe, scenario, seed) for make in (corrected, plugins)
    )
    if exact is None:
        return {}
    same = [type(one) for one in own] == [type(one) for one in exact]
    counterparts = {"its own": own}
    if not same:
        counterparts["corrected"] = exact
    found = {}
    for name, added in counterparts.items():
        start = _fresh(scenario, recipe, seed).to(scenario.tasks[0].train.x.dtype)
        ours = Ours(copy.deepcopy(start), recipe, settings, scenario, seed)
        theirs = Avalanche(
            copy.deepcopy(start), recipe, added, same_batches(scenario, seed), seed
        )
        found[name] = []
        for position in range(len(scenario.tasks)):
            ours.learn(position)
            theirs.learn(position)
            found[name].append(_largest(ours.model, theirs.model))
        found[name].append(_largest(ours.model, start))
    return found


def _largest(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((p - q).detach().abs().max()) for p, q in pairs)


def _fresh(scenario, recipe, seed):
    """Return the network that every side starts with."""
    model = build_network("mlp", scenario.tasks[0].train.x.shape[1:], scenario.classes)
    initialize(model, recipe.init, stream(seed, "init"))
    return model


def _sides(settings, scenario, usages, recipe, seed):
    model = partial(copy.deepcopy, _fresh(scenario, recipe, seed))
    sides = {OURS: Ours(model(), recipe, settings, scenario, seed)}
    for name, usage in usages.items():
        added = plugins(settings, recipe, scenario, seed)
        sides[name] = Avalanche(model(), recipe, added, usage, seed)
    if added := repaired(settings):
        name = f"{FASTEST}, repaired"
        sides[name] = Avalanche(model(), recipe, added, usages[FASTEST], seed)
    exact = corrected(settings, recipe, scenario, seed)
    if exact is not None:
        sides[OUR_BATCHES] = Avalanche(
            model(), recipe, exact, same_batches(scenario, seed), seed
        )
    return sides


def _row(model, scenario):
    """Return the accuracy on every task: with all outputs, and with the task's own alone."""

    def accuracies(logits):
        row = []
        for task in scenario.tasks:
            of_task = partial(logits, model, task.classes)
            row.append(evaluate(of_task, task.test, scenario.classes).accuracy())
        return row

    with mode(model, training=False):
        return accuracies(lambda model, _, x: model(x)), accuracies(_own)


def _own(model, classes, x):
    scores = model(x)
    barred = torch.full_like(scores, -torch.inf)
    barred[:, list(classes)] = 0
    return scores + barred
