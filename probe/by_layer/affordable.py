"""After which tasks to retrain where nobody says: after every task if that is affordable."""

from collections.abc import Callable

import torch

from probe.by_layer.probing import ProbingSpec
from probe.retrain import SAMPLE
from probe.training.costs import ops_counter

_MOST = 1e13  # multiply-adds, some ten minutes of a core


def with_steps(
    probing: ProbingSpec, run: Callable[[], object], examples: int, tails: int
) -> ProbingSpec:
    """Return the settings with what `affordable` stands for: `all` or `ends`.

    Each tail counts as the whole network, and a backward pass as two forward passes.

    Args:
        probing: The settings.
        run: A function that runs the network on a sample of `probe.retrain.SAMPLE` examples.
        examples: The examples that one retraining sees, in all epochs together.
        tails: The retrainings that `all` asks for.

    Returns:
        The settings.
    """
    unsettled = {n: r for n, r in probing.readouts.items() if r.steps == "affordable"}
    if not unsettled:
        return probing
    counter, counting = ops_counter()
    with torch.no_grad(), counting:
        run()
    multiply_adds = 3 * counter.get_total_flops() / 2 / SAMPLE * examples * tails
    steps = "all" if multiply_adds <= _MOST else "ends"
    settled = {n: r.model_copy(update={"steps": steps}) for n, r in unsettled.items()}
    return probing.model_copy(update={"readouts": {**probing.readouts, **settled}})
