"""What other packages of ours add to this one, found by the names that the installation lists."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from probe.errors import InputError

GROUP = "forgetting_probe"
"""The group of entry points that the installed package lists."""


def extension(name: str) -> Any:
    """Return what is installed under a name of the group, such as `plot`.

    So that this package can draw and run what is built over it without importing it by itself.
    Raises InputError if the package is not installed.
    """
    # An editable installation beside another may list the same one twice.
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise InputError(
            f"{name} is not there, as forgetting-probe is not installed: pip install -e ."
        )
    return found.load()
