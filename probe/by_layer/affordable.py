"""The default steps of retraining: after every task if that is affordable, else at the ends."""

from math import ceil

import torch

from probe.batch import Value
from probe.by_layer.probing import ProbingSpec
from probe.cut.model_call import undisturbed
from probe.modules import mode
from probe.retrain import SAMPLE
from probe.training.costs import ops_counter
from probe.training.fresh_weights import Factory
from probe.training.recipe import Recipe

_MOST = 1e13  # multiply-adds, some ten minutes of a core
_STEP = 5e6  # multiply-adds that take as long as the set-up of a training step


def with_steps(
    probing: ProbingSpec,
    recipe: Recipe,
    build: Factory,
    x: Value,
    examples: int,
    tails: int,
) -> ProbingSpec:
    """Return the settings with `all` or `ends` in place of `affordable`.

    Each tail counts as the whole network, and a backward pass as two forward passes. If
    torch counts too little, as for an LSTM, a forward pass counts as one multiply-add
    for each parameter.

    Args:
        probing: The settings.
        recipe: The recipe of the retraining.
        build: A function that returns the network, which is called on x; it is used
            only if a readout is `affordable`.
        x: The inputs of `probe.retrain.SAMPLE` examples.
        examples: The number of training examples.
        tails: The number of retrainings that `all` asks for.

    Returns:
        The settings.
    """
    unsettled = {
        name: readout
        for name, readout in probing.readouts.items()
        if readout.steps == "affordable"
    }
    if not unsettled:
        return probing
    network = build()
    counter, counting = ops_counter()
    with mode(network, training=False), undisturbed(x), torch.no_grad(), counting:
        network(x)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    forward = max(counter.get_total_flops() / 2 / SAMPLE, parameters)
    # A forward pass and a backward pass, which costs two.
    epoch = 3 * forward * examples + _STEP * ceil(examples / recipe.batch_size)
    work = tails * recipe.epochs_on(examples) * max(probing.budget) * epoch
    settled = {
        name: readout.model_copy(update={"steps": "all" if work <= _MOST else "ends"})
        for name, readout in unsettled.items()
    }
    return probing.model_copy(update={"readouts": {**probing.readouts, **settled}})
