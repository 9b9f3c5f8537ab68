"""Re-estimation of batch norm's running statistics from given inputs."""

from collections.abc import Callable
from contextlib import ExitStack

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from probe.batch import Value, gather, tensors
from probe.modules import mode
from probe.seeding import every_global_stream, permutation, stream
from probe.training.evaluation import batch_size_for

_SIZE = 256  # examples of a batch whose statistics are averaged


def running_norms(model: nn.Module) -> list[_NormBase]:
    """Return the layers of a model that normalize by running statistics in eval mode.

    They are batch norms, and instance norms with `track_running_stats`.

    >>> len(running_norms(nn.Sequential(nn.BatchNorm1d(2), nn.LayerNorm(2))))
    1
    """
    norms = (module for module in model.modules() if isinstance(module, _NormBase))
    return [
        norm
        for norm in norms
        if norm.track_running_stats and norm.running_mean is not None
    ]


@torch.no_grad()
def reestimate(
    model: nn.Module,
    x: Value,
    call: Callable[[nn.Module, Value], object] | None = None,
) -> None:
    """Re-estimate running statistics from the inputs, in place.

    An untrained network has no statistics (mean 0, variance 1), a fine-tuned one those
    of its last task. The new statistics are means over batches of all inputs in one
    fixed shuffled order. All other modules stay in eval mode, and no labels are used.
    Modes and momentum are restored, also after a failure, which leaves the statistics
    of the batches up to then.

    Args:
        model: The model.
        x: The inputs, (N, ...).
        call: Function that calls the model on a batch, `model(x)` by default.
    """
    norms = running_norms(model)
    if not norms:
        return
    column = tensors(x)[0]
    order = permutation(len(column), stream(0, "batch norm")).to(column.device)
    seeded = every_global_stream(stream(0, "batch norm", "pass"))
    with ExitStack() as restored, mode(model, training=False), seeded:
        for norm in norms:
            restored.callback(setattr, norm, "momentum", norm.momentum)
            norm.reset_running_stats()
            norm.train()
        # Of nearly equal size, as each counts alike; a single example has no variance.
        size = batch_size_for(x, column.device, _SIZE)
        for count, indices in enumerate(
            order.tensor_split(max(1, len(order) // size)), 1
        ):
            for norm in norms:
                norm.momentum = 1 / count  # the plain mean over batches
            batch = gather(x, indices)
            _ = model(batch) if call is None else call(model, batch)
