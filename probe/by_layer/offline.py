"""Offline training of a network on all tasks at once, the ceiling."""

import time
from collections.abc import Callable

import torch
from torch import nn

from probe.batch import tensors
from probe.by_layer.measurement import Cost, TrainingCost
from probe.cut.model_call import Called, ModelCall
from probe.examples import Examples
from probe.modules import trained_of
from probe.seeding import stream
from probe.tasks import Scenario
from probe.training.costs import OpsMeter, bytes_of, one_pass_ops
from probe.training.history import never_left
from probe.training.loop import Objective, fit
from probe.training.optimizers import optimizer_ops
from probe.training.precision import products
from probe.training.recipe import Recipe


def train_offline(
    model: nn.Module, call: ModelCall, scenario: Scenario, recipe: Recipe, seed: int
) -> TrainingCost:
    """Train a network in place on all tasks of a scenario together, as a study's `offline` does.

    Args:
        model: The network.
        call: The call that gives its logits.
        scenario: The tasks.
        recipe: The recipe of the training.
        seed: The seed of the mini-batches.

    Returns:
        The cost of the training.

    Raises:
        InputError: The training diverges.
    """
    data = scenario.merged.train
    meter = OpsMeter()
    objective = Objective()
    called = model if call == ModelCall() else Called(model, call)
    clock = clock_on(data.y.device)
    start = clock()
    with products("fp32"):
        generator = stream(seed, "batches", 0)
        fit(called, data, recipe, generator, objective=objective, meter=meter)
    return TrainingCost(
        cost=cost_of(called, data, recipe, meter),
        seconds=clock() - start,
        stuck=never_left(objective.losses),
    )


def cost_of(
    model: nn.Module,
    data: Examples,
    recipe: Recipe,
    meter: OpsMeter,
    elementwise: int = 0,
    *,
    carried: int = 0,
    stored: int = 0,
    kept: int = 0,
) -> Cost:
    """Return the cost of a training.

    Args:
        model: The trained model.
        data: The examples of the task.
        recipe: The recipe of the training.
        meter: The meter of the training, to which its elementwise work is added.
        elementwise: The multiply-adds of each step per trained parameter besides the
            optimizer's.
        carried: The bytes carried over from earlier tasks.
        stored: The bytes of samples stored from earlier tasks.
        kept: The bytes kept for later tasks besides the model.
    """
    parameters = list(model.parameters())
    trained = sum(p.numel() for p in trained_of(model))
    # Of each step, which the meter of matrix products does not see.
    meter.add(meter.steps * trained * (optimizer_ops(recipe) + elementwise))
    return Cost(
        parameter_bytes=bytes_of(parameters),
        carried_bytes=carried,
        stored_bytes=stored,
        train_bytes=bytes_of([*tensors(data.x), data.y]),
        ops_one_pass=one_pass_ops(model, data, recipe.batch_size),
        ops=meter.total,
        kept_bytes=kept + bytes_of([*parameters, *model.buffers()]),
    )


def clock_on(device: torch.device) -> Callable[[], float]:
    """Return a clock, in seconds, that times one thread's work on a device."""
    # Processor time leaves out what else a machine does, but also the work of a GPU.
    return time.process_time if device.type == "cpu" else time.perf_counter
