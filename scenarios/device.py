"""The device that a command was asked to compute on."""

from __future__ import annotations

import torch

from probe.errors import InputError


def device_named(name: str, here: bool = True) -> torch.device:
    """Return the device of that name; raises InputError for any that torch does not have here.

    here: whether this machine must have it, or only those that will compute.

    >>> device_named("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}: expected cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda") or (device.type == "cpu" and device.index):
        raise InputError(f"unknown device {name!r}: expected cpu, cuda or cuda:N")
    if here and device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"no device {name!r}: torch sees {torch.cuda.device_count()} CUDA devices here; use "
            f"--device cpu"
        )
    return device
