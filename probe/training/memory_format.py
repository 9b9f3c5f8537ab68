"""Memory formats of images: channel by channel, or pixel by pixel (channels-last)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from probe.batch import AnyValue, Value, gather, mapped, tensors
from probe.examples import Labeled
from probe.modules import kept_buffers, mode
from probe.seeding import draws, every_global_stream, stream

_FEW = 8  # examples on which a network must give the same in both layouts


def channels_last(x: AnyValue) -> AnyValue:
    """Return the same values with every tensor of images (B, C, H, W) channels-last in memory.

    Args:
        x: One or more tensors (B, ...).

    Returns:
        Tensors of the same shapes; those without four dimensions are unchanged.

    >>> channels_last(torch.zeros(1, 3, 2, 2)).stride()
    (12, 1, 6, 3)
    """
    last = torch.channels_last
    # `contiguous` would leave images of one channel as they are.
    return mapped(x, lambda t: t.to(memory_format=last) if t.ndim == 4 else t)


@torch.no_grad()
def same_in_both_layouts(function: Callable[..., Tensor], few: Value) -> bool:
    """Return whether a function of images gives the same in both memory layouts, up to rounding.

    A `view` that joins channels and pixels fails on channels-last images, and
    `as_strided` would read other elements.

    Args:
        function: A function of batches (B, ...).
        few: A few examples (n, ...) to try.

    Returns:
        Whether both are equal; False if the examples are not images.
    """
    if all(tensor.ndim != 4 for tensor in tensors(few)):
        return False
    try:
        # Copies: the function may write into its input.
        a = function(mapped(few, torch.clone))
        b = function(mapped(channels_last(few), torch.clone))
        return same_up_to_rounding(a, b)
    except Exception:
        # An error that is not of the layout occurs again, in the passes that count.
        return False


def same_up_to_rounding(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are the same, up to what kernels round differently.

    Args:
        a: Values, not all of which may be infinite.
        b: The same values, computed in another way.
    """
    # Logits of classes that do not compete are -inf.
    largest = float(a[a.isfinite()].abs().max())
    return torch.allclose(a, b, rtol=1e-3, atol=1e-3 * largest)


def some(data: Labeled) -> Value:
    """Return a few of N examples, each tensor (n, ...), enough to tell two layouts apart."""
    return gather(data.x, torch.arange(min(_FEW, len(data)), device=data.y.device))


@contextmanager
def faster_layout(model: nn.Module, data: Labeled) -> Iterator[None]:
    """Give `model` batches of `data` channels-last within the block, if that trains faster.

    It does for models with convolutions to train and no random draws: on one CPU core
    (an AMD EPYC) a step takes 0.55 to 0.95 of the time. Parameters keep their layout,
    as kernels follow the layout of the activations. The model's buffers and mode are
    restored afterwards, and it has no gradients.

    Args:
        model: The model.
        data: N examples on the model's device.
    """
    if not gains_pixelwise(model, model, some(data)):
        yield
        return

    def to_channels_last(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            channels_last(x) if type(x) in (Tensor, tuple, dict) else x for x in inputs
        )

    with model.register_forward_pre_hook(to_channels_last):
        yield


def gains_pixelwise(
    model: nn.Module,
    function: Callable[[Value], Tensor],
    few: Value,
) -> bool:
    """Return whether a model is faster on channels-last images, with the same results.

    The model's buffers and mode are restored afterwards, and it has no gradients.

    Args:
        model: The model.
        function: Function that runs the model on a batch (B, ...).
        few: A few examples (n, ...) to try.

    Returns:
        Whether it is faster, with the same results.
    """
    leaves = [module for module in model.modules() if not list(module.children())]
    convolves = any(
        isinstance(leaf, nn.Conv2d) and leaf.weight.requires_grad for leaf in leaves
    )
    # Flattening gives back a gradient channel by channel: where it meets a ReLU pixel
    # by pixel, that one's backward pass takes 15 times as long, which is more than
    # convolutions gain.
    flattens = any(
        isinstance(first, nn.ReLU) and isinstance(second, nn.Flatten)
        for first, second in pairwise(leaves)
    )
    # Images of one channel keep their layout: a training of old has the same bits.
    has_channels = any(t.ndim == 4 and t.shape[1] != 1 for t in tensors(few))
    if not convolves or flattens or not has_channels:
        return False
    with kept_buffers(model), every_global_stream(stream(0, "layout")):
        with mode(model, training=False):
            same = same_in_both_layouts(function, few)
        return same and _trains_pixelwise(model, function, few)


def _trains_pixelwise(
    model: nn.Module,
    function: Callable[[Value], Tensor],
    few: Value,
) -> bool:
    """Return whether a step in training mode succeeds without random draws.

    Random masks are drawn in the order of the memory, so another layout would change
    them.
    """
    drawn = draws()
    try:
        with torch.enable_grad(), mode(model, training=True):
            function(channels_last(mapped(few, torch.clone))).sum().backward()
    except Exception:
        return False  # a view of the channels, in training mode or backward
    finally:
        model.zero_grad()
    return not drawn()
