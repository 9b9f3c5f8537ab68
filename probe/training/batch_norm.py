"""Running statistics of batch norm, taken anew from given inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.instancenorm import _InstanceNorm

from probe.batch import Value, gather, tensors
from probe.modules import copied, mode
from probe.seeding import every_global_stream, stream

_SIZE = 256  # examples of a batch whose statistics are averaged

Norm = _NormBase
"""A layer that may keep running statistics: batch norm, or instance norm where it is told to."""


def running_norms(model: nn.Module) -> list[Norm]:
    """Return the layers of a model that normalize by running statistics in eval mode.

    >>> len(running_norms(nn.Sequential(nn.BatchNorm1d(2), nn.LayerNorm(2))))
    1
    """
    norms = (module for module in model.modules() if isinstance(module, _NormBase))
    return [norm for norm in norms if norm.track_running_stats and norm.running_mean is not None]


@torch.no_grad()
def reestimate(
    model: nn.Module, x: Value, call: Callable[[nn.Module, Value], object] | None = None
) -> bool:
    """Give each layer that keeps running statistics those of the inputs x (N, ...), in place.

    An untrained network has statistics of nothing (mean 0, variance 1), and a fine-tuned one those
    of its last task. Here they are means over batches of all inputs in a mixed order, always the
    same; all else stays in eval mode, and no labels are used. call: how the model is given a batch,
    `model(x)` by default. Returns whether there is any such layer. Modes and momentum are as before
    afterwards, also after a failure, which leaves statistics of what was seen until then.
    """
    norms = running_norms(model)
    if not norms:
        return False
    first = tensors(x)[0]
    order = torch.randperm(len(first), generator=stream(0, "batch norm")).to(first.device)
    own = every_global_stream(stream(0, "batch norm", "pass"))
    with mode(model, training=False), _plain_means(norms), own:
        for norm in norms:
            norm.reset_running_stats()
            norm.train()
        # Of nearly one size, as each counts alike; one example alone has no variance.
        for count, indices in enumerate(order.tensor_split(max(1, len(order) // _SIZE)), 1):
            for norm in filter(_is_instance_norm, norms):
                norm.momentum = 1 / count
            batch = gather(x, indices)
            _ = model(batch) if call is None else call(model, batch)
    return True


def _is_instance_norm(norm: Norm) -> bool:
    """Whether torch takes no momentum for one of 0, and not for the plain mean."""
    return isinstance(norm, _InstanceNorm)


@contextmanager
def _plain_means(norms: Sequence[Norm]) -> Iterator[None]:
    """Let layers take the plain mean over batches; restore their momentum, also after a failure."""
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = None
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum


def reestimated(
    model: nn.Module, x: Value, call: Callable[[nn.Module, Value], object] | None = None
) -> nn.Module:
    """Return a copy of the model with the running statistics of x (N, ...); see `reestimate`."""
    own = copied(model)
    reestimate(own, x, call)
    return own
