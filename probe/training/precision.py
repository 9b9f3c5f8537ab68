"""Precision of fp32 products, by torch's global settings, and of losses, by autocast."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch

from probe.errors import InputError
from probe.training.recipe import Precision

OVERFLOW = "float16 ends at 65,504; give the network in float32 or bfloat16"
"""The remedy for values of a network in float16 that are not finite."""


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Set whether products of fp32 matrices and convolutions keep all bits within the block.

    By default torch may round the factors on a GPU to the 10 bits of TF32; for
    convolutions it does unless this is turned off. Within the block it may do so only
    on a GPU with the precision `tf32`; with `bf16`, operations that autocast leaves in
    fp32 keep all bits. The settings apply to the whole process and are restored
    afterwards, also after a failure.

    Args:
        precision: The precision.

    Raises:
        InputError: The precision is `auto`, which must be resolved first.

    >>> with products("fp32"):
    ...     torch.ones(1, 2) @ torch.ones(2, 1)
    tensor([[2.]])
    """
    if precision == "auto":
        raise InputError(
            'precision "auto" is only for studies and analyze: give "fp32" or another'
        )
    rounded = precision == "tf32"
    backends = cast(Any, torch.backends)  # not all of it has types
    cudnn = backends.cudnn
    mkldnn = backends.mkldnn
    with ExitStack() as restored:

        def put(owner: object, name: str, value: object) -> None:
            restored.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

        # Torch 2.9 has a setting for each kind of product, and refuses to mix them with
        # the old.
        if hasattr(backends.cuda.matmul, "fp32_precision"):
            for kind in (backends.cuda.matmul, cudnn.conv, cudnn.rnn):
                put(kind, "fp32_precision", "tf32" if rounded else "ieee")
            for kind in (mkldnn.matmul, mkldnn.conv, mkldnn.rnn):
                put(kind, "fp32_precision", "ieee")
        else:
            before = torch.get_float32_matmul_precision()
            restored.callback(torch.set_float32_matmul_precision, before)
            torch.set_float32_matmul_precision("high" if rounded else "highest")
            put(cudnn, "allow_tf32", rounded)
        yield


def lowered(device: str, low: bool) -> torch.autocast:
    """Return a context in which a loss is computed in bf16, or in fp32.

    This concerns the loss only: gradients and updates are those of the fp32 weights.
    Torch's cache of bf16 weights is off, as it lives until the outermost autocast ends.
    That may be an autocast around the whole training, in which every later step would
    use the weights of the first.

    Args:
        device: The type of the device.
        low: Whether to use bf16.

    Returns:
        The context.
    """
    return torch.autocast(device, torch.bfloat16, enabled=low, cache_enabled=False)
