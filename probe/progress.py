"""A progress bar on the terminal."""

from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Item = TypeVar("Item")


def tracked(items: Iterable[Item], label: str) -> Iterable[Item]:
    """Return the items, with a progress bar while standard error is a terminal."""
    console = Console(stderr=True)
    hidden = not console.is_terminal
    return track(items, label, console=console, transient=True, disable=hidden)
