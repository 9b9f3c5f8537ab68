"""Every learner on a device that is not the CPU: the same numbers, and no step that waits.

The device is the tests' own (`tests.laws.other_device`), so that no GPU is needed; what
a GPU's kernels round otherwise does not show there.
"""

from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import pytest
import torch

from probe.modules import mode
from probe.training import loop
from tests.laws.other_device import Held, OtherDevice
from tests.scenarios.learners.test_learners import CASES
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    by_head,
    digits,
    learn,
    learner,
    logits,
    noisy_network,
    with_norm,
)

# What a learner can be given that takes it another way.
VARIANTS = [
    *CASES,
    ("ewc", {"fisher_examples": 5, "loss_classes": "task"}),
    ("rwalk", {"distance": "euclidean", "interval": 1}),
]


def moved(own, tasks, device):
    """Return a learner that goes on there from the state of one that has learned the tasks."""
    state = {name: tensor.to(device) for name, tensor in own.state().items()}
    other = type(own)(own.model.to(device), own.recipe, own.settings, own.seed)
    other.restore(state, tasks)
    return other


def learned(own, scenario, device):
    """Learn two tasks, and a third from a checkpoint; return all that came of it, on the CPU."""
    there = scenario.to(device)
    first, second, third = there.tasks[:3]
    own.model = own.model.to(device)
    for task in (there.merged,) if own.offline else (first, second):
        own.learn(task)
    found = {
        f"before.{name}": tensor.clone()
        for name, tensor in own.model.state_dict().items()
    }
    if not own.offline:
        own = moved(own, (first, second), device)
        own.learn(third)
    with torch.no_grad(), mode(own.model, training=False):
        found |= {
            "single": logits(own, first.test.x),
            "multi": logits(own, first.test.x, second),
        }
    found |= own.model.state_dict() | {
        f"state.{n}": tensor for n, tensor in own.state().items()
    }
    for head, predicted in by_head(own, there).items():
        found[f"predicted.{head}"] = predicted.cpu()
    return {
        n: each.held if isinstance(each, Held) else each for n, each in found.items()
    }


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *VARIANTS,
        *((kind, {"model": noisy_network}) for kind in ("ewc", "lwf")),
        *((kind, {"model": with_norm}) for kind in ("icarl", "cumulative")),
    ],
)
def test_a_learner_gives_the_same_bits_on_another_device(kind, given):
    """And mixes devices in no operation, from the first task to a checkpoint and an evaluation."""

    def make():
        return learner(
            kind, **{n: v() if n == "model" else v for n, v in given.items()}
        )

    scenario = make().view(digits(10))
    # On a CPU alone small chains are trained without autograd, which rounds otherwise.
    with patch.object(loop, "chained", return_value=nullcontext()):
        here = learned(make(), scenario, torch.device("cpu"))
    with OtherDevice() as device:
        there = learned(make(), scenario, device.device)
    assert here.keys() == there.keys()
    assert [name for name in here if not torch.equal(here[name], there[name])] == []


def waits(kind, steps, optimizer="adam", **given):
    """Return how often the third of three tasks of 20 examples makes anybody wait.

    steps: of an epoch. The first task of all has no past, and the second no exemplars
        of two.
    """
    more = {"weight_decay": 0.1, "clip_norm": 0.1, "warmup": 0.5, "schedule": "cosine"}
    recipe = replace(
        RECIPE, epochs=1, batch_size=20 // steps, optimizer=optimizer, **more
    )
    own = learner(kind, recipe=recipe, **given)
    scenario = own.view(digits(10))
    learn(own, scenario.tasks[:2])
    with OtherDevice() as there:
        *past, task = scenario.to(there.device).tasks[:3]
        own = moved(own, past, there.device)
        there.waits.clear()
        own.learn(task)
    return there.waits.total()


# Learners that look at values in every step: the projection of GEM is solved on the
# CPU, the GeppNets learn one example after the other, and PathNet waits for the fitness
# of each path.
LOOKING = ("gem", "geppnet", "geppnet_stm", "pathnet")


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *(each for each in VARIANTS if each[0] not in LOOKING),
        *(("finetune", {"optimizer": each}) for each in ("adamw", "nadam", "sgd")),
    ],
)
def test_no_step_waits_for_the_device(kind, given):
    """Five steps an epoch make nobody wait more often than one does, ER's draws included."""
    assert waits(kind, 5, **given) == waits(kind, 1, **given) > 0
