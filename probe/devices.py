"""The devices on which networks are measured."""

import re

import torch

from probe.errors import InputError


def device_named(name: str, here: bool = True) -> torch.device:
    """Return a device by name.

    Args:
        name: The name, cpu, cuda or cuda:N; `auto` = a GPU if this machine has one,
            else the CPU.
        here: Whether this machine must have the device, or only the machines that
            compute.

    Returns:
        The device.

    Raises:
        InputError: The device is unknown or missing.

    >>> device_named("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not isinstance(name, str) or not re.fullmatch(
        r"cpu(:0)?|cuda(:(0|[1-9]\d?))?", name
    ):
        raise InputError(
            f"unknown device {name!r:.40}: expected auto, cpu, cuda or cuda:N"
        )
    device = torch.device(name)
    if (
        here
        and device.type == "cuda"
        and (device.index or 0) >= torch.cuda.device_count()
    ):
        raise InputError(
            f"torch sees {torch.cuda.device_count()} CUDA devices, "
            f"but no {name!r}: use another, or cpu"
        )
    return device
