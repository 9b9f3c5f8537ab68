"""Precision of torch's products of fp32 numbers: its global settings, borrowed for a block."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from probe.errors import InputError
from probe.training.recipe import Precision


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Let products of fp32 matrices and convolutions keep all their bits within the block.

    By itself, torch may round the factors: on a GPU to the 10 bits of TF32, in convolutions unless
    it is told otherwise. Here it may only on a GPU and where precision is `tf32`; in bf16, what
    autocast leaves in fp32 keeps its bits. The settings are the whole process's; they are as before
    afterwards, also after a failure. Raises InputError for `auto`, which is yet to be chosen.

    >>> with products("fp32"):
    ...     torch.ones(1, 2) @ torch.ones(2, 1)
    tensor([[2.]])
    """
    if precision == "auto":
        raise InputError(
            'precision "auto" is for studies and `analyze`, which keep its choice: give "fp32", '
            '"tf32" or "bf16" here'
        )
    rounded = precision == "tf32"
    with ExitStack() as restored:
        # Torch 2.9 has a setting for each kind of product, and refuses to mix them with the old.
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
            _set_each(restored, rounded)
        else:
            _set_old(restored, rounded)
        yield


def lowered(device: str, low: bool) -> torch.autocast:
    """Return a context in which a loss is computed in bf16 if `low`, in fp32 otherwise.

    Only the loss: gradients and updates are those of the fp32 weights. Without torch's cache of
    lowered weights: it lives until the outermost autocast ends, which may be that of a whole
    training or of the caller, and every step but the first would see the weights of the first.
    """
    return torch.autocast(device, torch.bfloat16, enabled=low, cache_enabled=False)


def _set_each(restored: ExitStack, rounded: bool) -> None:
    backends: Any = torch.backends  # not all of it has types
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    on_gpu = (backends.cuda.matmul, cudnn.conv, cudnn.rnn)
    for kind in (*on_gpu, mkldnn.matmul, mkldnn.conv, mkldnn.rnn):
        restored.callback(setattr, kind, "fp32_precision", kind.fp32_precision)
        kind.fp32_precision = "tf32" if rounded and kind in on_gpu else "ieee"


def _set_old(restored: ExitStack, rounded: bool) -> None:
    restored.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("high" if rounded else "highest")
    cudnn = torch.backends.cudnn
    restored.callback(setattr, cudnn, "allow_tf32", cudnn.allow_tf32)
    cudnn.allow_tf32 = rounded
