"""The device that a command computes on."""

import re

import torch

from probe.errors import InputError


def device_named(name: str, here: bool = True) -> torch.device:
    """Return the device of that name; raises InputError for an unknown or missing one.

    here: whether this machine must have it, or only those that will compute.

    >>> device_named("cpu")
    device(type='cpu')
    """
    if not re.fullmatch(r"cpu(:0)?|cuda(:(0|[1-9]\d?))?", name):
        raise InputError(f"unknown device {name!r}: expected cpu, cuda or cuda:N")
    device = torch.device(name)
    if here and device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"no device {name!r}: torch sees {torch.cuda.device_count()} CUDA devices here; use "
            f"--device cpu"
        )
    return device
